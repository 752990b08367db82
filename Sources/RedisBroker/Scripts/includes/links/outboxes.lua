-- Ends that queues elsewhere have to hear of, because something there depends on what has ended. `outbox:QUEUE` has them as `outbox` has those for this
-- queue. `outboxes` has the queues for which there are any, each with the instant from which on a relay may take them: a worker takes them for a second.
-- include: needs
local OUTBOXES = PREFIX .. 'outboxes'
local function outbox_of(queue) return OUTBOX .. ':' .. queue end

-- Whether there is a queue for which nothing waited yet.
local has_new_outbox = false
local function send_end(id, sequence, state, queues)
  for queue in string.gmatch(queues, '%S+') do
    call('ZADD', outbox_of(queue), outbox_score(sequence, state), id)
    has_new_outbox = call('ZADD', OUTBOXES, 'NX', '0', queue) == 1 or has_new_outbox
  end
end

-- It is tried again: the end that others have not heard of is none any more.
local function take_back_end(id)
  call('ZREM', OUTBOX, id)
  local queues = call('HGET', extras_key(id), 'dependentQueues')
  for queue in string.gmatch(queues or '', '%S+') do call('ZREM', outbox_of(queue), id) end
end
