-- Cancels operations: waiting ones end at once, for a running one the request is stored first and its owner notified then.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] reason  ARGV[3] 1 = store the intent for ids that have no record  ARGV[4…] ids, at most 500
-- Output   for each: code, detail. cancelled ''; requested worker; f|d|c|e and when it ended; unknown 1 if the intent is stored.
--          Then, if some have no record, the workers among whose operations cancel_held.lua is to look for them
-- Events   c for each that ended
-- include: base
-- include: finish
-- include: leave_waiting
-- include: batch_of
-- include: cancel_request
-- include: flush
call('HDEL', META, '')
local by, reason = ARGV[1], ARGV[2]
local trace = format('%d ', now) .. by .. ' ' .. reason
local reply = {}

local function note(id)
  call('HSET', extras_key(id), 'cancelAt', format('%d', now), 'cancelBy', by, 'cancelReason', reason)
end

local function cancel_executing(id, head)
  local worker = worker_of(head)
  if not worker then return 'unknown', '0' end
  if call('HEXISTS', extras_key(id), 'cancelAt') == 0 then note(id) end
  request_cancel(worker, format('%d', fence_of(head)), trace)
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
    leave_waiting(id, head)
    note(id)
    finish_waiting(id, head, 'c')
    return 'cancelled', ''
  end
  local ended_at = ended_at_of(head)
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
flush()
return reply
