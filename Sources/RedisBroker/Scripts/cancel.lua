-- Cancels operations: waiting ones end at once, for a running one the intent is stored first and its owner told then.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] reason  ARGV[3] 1 = store the intent for ids that have no record  ARGV[4…] ids, at most 500
-- Output   for each: code, detail. cancelled ''; requested worker; f|d|c|e and when it ended; unknown 1 if the intent is stored.
--          Then, if some have no record, the workers among whose operations cancel_held.lua is to look for them
-- Events   c for each that ended
-- include: base
-- include: limits
-- include: events
-- include: records
-- include: ending
-- include: unhandled
-- include: order
-- include: flush
call('HDEL', META, '')
local by, reason = ARGV[1], ARGV[2]
local trace = format('%d ', now) .. by .. ' ' .. reason
local reply = {}
local leave_ready = unhandled_sets()

local function note(id)
  call('HSET', extras_key(id), 'cancelAt', format('%d', now), 'cancelBy', by, 'cancelReason', reason)
end

local function cancel_executing(id, head)
  local worker = worker_of(head)
  if not worker then return 'unknown', '0' end
  if call('HEXISTS', extras_key(id), 'cancelAt') == 0 then note(id) end
  order(worker, format('%d', fence_of(head)), trace)
  return 'requested', worker
end

-- An untracked operation has no record. cancel_held.lua looks for it among what runs; the intent is stored before, so that nothing slips
-- through that is started meanwhile.
local is_any_missing = false
local function store_intent(id)
  is_any_missing = true
  if ARGV[3] ~= '1' then return 'unknown', '0' end
  local intents = PREFIX .. 'intents'
  if call('HLEN', intents) >= INTENTS_KEPT then return 'unknown', '0' end
  call('HSET', intents, id, trace)
  call('PEXPIRE', intents, INTENT_MS)
  call('HSET', META, 'intents', '1')
  return 'unknown', '1'
end

local function cancel(id)
  local head = head_of(id)
  if not head then return store_intent(id) end
  local state = state_of(head)
  if state == 'x' then return cancel_executing(id, head) end
  if state == 'r' or state == 's' or state == 't' or state == 'b' then
    if state == 'r' then leave_ready(id, head) end
    if state == 's' then call('ZREM', PREFIX .. 'scheduled', id) end
    if state == 't' then call('ZREM', PREFIX .. 'retrying', id) end
    if sub(head, 19, 27) ~= ZERO9 then call('ZREM', PREFIX .. 'expiring', id) end
    note(id)
    end_record(id, head, 'c', sub(head, 5, 7), next_revision(sub(head, 4, 4)))
    return 'cancelled', ''
  end
  local ended_at = tonumber(sub(head, 66, 74), 36)
  -- Not cleared away yet: it ended with the cancel of its queue.
  if ended_at == 0 then ended_at = queue_cancel(head) or 0 end
  return state, format('%d', ended_at)
end

for i = 4, #ARGV do
  reply[#reply + 1], reply[#reply + 2] = cancel(ARGV[i])
end
if is_any_missing then
  for _, worker in ipairs(call('ZRANGE', PREFIX .. 'leases', 0, 4999)) do
    if call('EXISTS', PREFIX .. 'inflight:' .. worker) == 1 then reply[#reply + 1] = worker end
  end
end
flush_ended()
flush()
return reply
