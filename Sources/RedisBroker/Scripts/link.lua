-- Lets operations of another queue depend on these: from now on their ends are relayed to that queue.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  the queue of the dependents  ARGV[2…] ids, at most 500
-- Output   for each "STATE SEQUENCE" and its result, if it has finished and the result is short. The state is f d c e,
--          m = removed, - = it has not ended, ? = unknown, ! = too many queues have to hear of it
-- Events   none
-- include: base
-- include: record
-- include: set_linked
-- include: keep_input
-- include: outboxes
local DEPENDENT_QUEUES = 64
local queue, reply, bytes = ARGV[1], {}, 0

-- Returns the end of a removed operation, if it was not relayed to the other queue yet.
local function said_of_removed(id)
  local score = call('ZSCORE', outbox_of(queue), id)
  if not score then return '? 0' end
  local sequence, state = end_of_outbox_score(score)
  return state .. format(' %.0f', sequence)
end

-- Adds the queue to those that are notified of the end. Returns false if they are too many.
local function add_queue(id, head)
  local queues, n = call('HGET', extras_key(id), 'dependentQueues') or '', 0
  for known in string.gmatch(queues, '%S+') do
    if known == queue then return true end
    n = n + 1
  end
  if n == DEPENDENT_QUEUES then return false end
  call('HSET', extras_key(id), 'dependentQueues', queues == '' and queue or queues .. ' ' .. queue)
  set_linked(id, head)
  return true
end

local function result_for(id, state)
  if state ~= 'f' or bytes >= REPLY_BYTES then return '' end
  local result = result_of(id)
  bytes = bytes + #result
  return result
end

local function link(id)
  local head = head_of(id)
  if not head then return said_of_removed(id), '' end
  if not add_queue(id, head) then return '! 0', '' end
  local state = state_of(head)
  return (is_end(state) and state or '-') .. format(' %.0f', sequence_of(head)), result_for(id, state)
end

if not is_queue_name(queue) or #ARGV - 1 > BATCH then return redis.error_reply(format('ERR sluice: link got queue "%.99s" and %d ids: expected a queue name (1 to 128 letters, digits, ".", "_" or "-") and at most %d ids', queue, #ARGV - 1, BATCH)) end
for i = 2, #ARGV do reply[2 * i - 3], reply[2 * i - 2] = link(ARGV[i]) end
return reply
