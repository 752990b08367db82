-- Cancels operations: waiting ones end at once, for a running one the request is stored first and its owner notified then. A forced cancel also
-- ends running ones at once.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] reason  ARGV[3] 1 = store the intent for ids that have no record  ARGV[4] 1 = forced
-- ARGV[5…] ids, at most 500
-- Output   for each: code, detail. cancelled ''; requested worker; group '', its members are to be cancelled; forced worker; f|d|c|e and when it ended; unknown 1 if the intent is stored.
--          Then, if some have no record, the workers among whose operations cancel_held.lua is to look for them
-- Events   c for each that ended, with the change
-- include: base
-- include: batch_of
-- include: cancel_one
-- include: force_cancel
-- include: members
-- include: expire
-- include: flush
call('HDEL', META, '')
local by, reason, is_forced = ARGV[1], ARGV[2], ARGV[4] == '1'
local trace = format('%d ', now) .. by .. ' ' .. reason
local reply = {}

local changed, last_changed = 0, nil
local function cancel_executing(id, head)
  local worker = worker_of(head)
  if not worker then return 'unknown', '0' end
  changed, last_changed = changed + 1, id
  if is_forced and force_cancel(worker, format('%d', fence_of(head)), id, trace) then return 'forced', worker end
  cancel_executing_one(id, head, worker, by, reason)
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
  local head = head_in_time(id)
  if not head then return store_intent(id) end
  local state = state_of(head)
  if state == 'x' then return cancel_executing(id, head) end
  if state == 'b' and group_members().group_of(id, head) then
    changed, last_changed = changed + 1, id
    return group_members().cancel(id, by, reason) and 'cancelled' or 'group', ''
  end
  if state == 'r' or state == 's' or state == 't' or state == 'b' then
    cancel_waiting_one(id, head, by, reason)
    changed, last_changed = changed + 1, id
    return 'cancelled', ''
  end
  local ended_at = ended_at_of(head)
  -- Not cleared away yet: it ended with the cancel of its queue.
  if ended_at == 0 then ended_at = queue_cancel(head) or 0 end
  return state, format('%d', ended_at)
end

for i = 5, #ARGV do
  reply[#reply + 1], reply[#reply + 2] = cancel(ARGV[i])
end
if is_any_missing then
  for _, worker in ipairs(call('ZRANGE', PREFIX .. 'leases', 0, 4999)) do
    if call('EXISTS', PREFIX .. 'inflight:' .. worker) == 1 then reply[#reply + 1] = worker end
  end
end
if changed > 0 then note_change('cancel', by, changed, reason, last_changed) end
flush()
return reply
