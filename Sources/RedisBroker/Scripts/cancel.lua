-- Cancels operations: a waiting one ends at once; for a running one the cancel request is stored first, then its worker
-- is notified. A forced cancel also ends running operations at once.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] reason  ARGV[3] 1 = store the cancel of ids that have no record, as an intent
--          ARGV[4] 1 = forced
-- ARGV[5…] ids, at most 500
-- Output   for each: code, detail. cancelled ''; requested worker; group '', its members are still to be cancelled;
--          forced worker; f|d|c|e and when it ended; unknown 1 if the intent is stored. Then, if some ids have no
--          record, the workers whose operations cancel_held.lua has to search
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

-- An untracked operation has no record. cancel_held.lua searches the running operations for it. The intent is stored
-- before that, so an operation that starts meanwhile is not missed.
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
  -- The operation ended with the cancel of its queue, and is not cleared away yet.
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
