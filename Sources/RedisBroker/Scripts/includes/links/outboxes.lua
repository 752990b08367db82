-- Ends to relay to other queues, where operations depend on the ended ones. `outbox:QUEUE` stores them as `outbox`
-- stores the ends for this queue. `outboxes` has the queues with such ends, each with the instant from which a relay
-- may reserve them: a worker reserves them for one second.
-- include: needs
local OUTBOXES = PREFIX .. 'outboxes'
local function outbox_of(queue) return OUTBOX .. ':' .. queue end

-- Whether a queue without waiting ends has got one.
local has_new_outbox = false
local function send_end(id, sequence, state, queues)
  for queue in string.gmatch(queues, '%S+') do
    call('ZADD', outbox_of(queue), outbox_score(sequence, state), id)
    has_new_outbox = call('ZADD', OUTBOXES, 'NX', '0', queue) == 1 or has_new_outbox
  end
end

local function note_new_outbox() has_new_outbox = true end

-- Returns whether a queue without waiting ends has got one since the last call.
local function take_new_outbox()
  local has = has_new_outbox
  has_new_outbox = false
  return has
end

-- Takes back the end of a retried operation for dependents that were not notified of it.
local function take_back_end(id)
  call('ZREM', OUTBOX, id)
  local queues = call('HGET', extras_key(id), 'dependentQueues')
  for queue in string.gmatch(queues or '', '%S+') do call('ZREM', outbox_of(queue), id) end
end
