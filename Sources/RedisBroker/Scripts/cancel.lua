-- Cancels operations: waiting ones end at once, for a running one the intent is stored first and its owner told then.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] reason  ARGV[3] 1 = store the intent for ids that are not found  ARGV[4…] ids, at most 500
-- Output   for each: code, detail. cancelled ''; requested worker; f|d|c|e and when it ended; unknown 1 if the intent is stored
-- Events   c for each that ended
-- include: base
-- include: limits
-- include: events
-- include: records
-- include: ending
-- include: flush
call('HDEL', META, '')
local by, reason = ARGV[1], ARGV[2]
local trace = format('%d ', now) .. by .. ' ' .. reason
local reply = {}

local function note(id)
  call('HSET', extras_key(id), 'cancelAt', format('%d', now), 'cancelBy', by, 'cancelReason', reason)
end

local function order(worker, fence)
  if call('HSETNX', PREFIX .. 'cancelling:' .. worker, fence, trace) == 1 then
    call('PUBLISH', PREFIX .. 'control:' .. worker, 'cancel ' .. fence .. ' ' .. reason)
  end
  return 'requested', worker
end

local function cancel_executing(id, head)
  local worker = worker_of(head)
  if not worker then return 'unknown', '0' end
  if call('HEXISTS', extras_key(id), 'cancelAt') == 0 then note(id) end
  return order(worker, format('%d', fence_of(head)))
end

-- An untracked operation has no record: it is looked for among what runs, all of which is read once per call, and only if needed.
local owners
local function owner_of(id)
  if not owners then
    owners = {}
    for _, worker in ipairs(call('ZRANGE', PREFIX .. 'leases', 0, 999)) do
      local held = call('HGETALL', PREFIX .. 'inflight:' .. worker)
      for i = 1, #held, 2 do owners[sub(held[i + 1], 39, 64)] = { worker, held[i] } end
    end
  end
  return owners[id]
end

local function cancel_untracked(id)
  local owner = owner_of(id)
  if owner then return order(owner[1], owner[2]) end
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
  if not head then return cancel_untracked(id) end
  local state = state_of(head)
  if state == 'x' then return cancel_executing(id, head) end
  if state == 'r' or state == 's' or state == 't' or state == 'b' then
    if state == 'r' then add('ghosts', 1) end
    if state == 's' then call('ZREM', PREFIX .. 'scheduled', id) end
    if state == 't' then call('ZREM', PREFIX .. 'retrying', id) end
    if sub(head, 19, 27) ~= ZERO9 then call('ZREM', PREFIX .. 'expiring', id) end
    note(id)
    end_record(id, head, 'c', sub(head, 5, 7), next_revision(sub(head, 4, 4)))
    return 'cancelled', ''
  end
  local ended_at = tonumber(sub(head, 66, 74), 36)
  -- Not cleared away yet: it ended with the cancel of its queue.
  if ended_at == 0 then ended_at = string.match(call('HGET', META, 'cancelTrace') or '', '^%d+') or 0 end
  return state, format('%d', ended_at)
end

for i = 4, #ARGV do
  reply[#reply + 1], reply[#reply + 2] = cancel(ARGV[i])
end
flush_ended()
flush()
return reply
