-- Reserves ends to relay to another queue, for one second; the caller then calls `resolve` there and `relayed` here.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     none
-- Output   the other queue, then for each end: id, sequence, letter, and its result if it has finished and the result
--          is short; an empty array without ends
-- Events   none
-- include: base
-- include: keep_input
-- include: outboxes
local AT_ONCE = 100
local TURN = 1000

-- Reserves the first queue with ends that no other relay has reserved.
local function take_queue()
  for _ = 1, 8 do
    local queue = call('ZRANGEBYSCORE', OUTBOXES, '-inf', NOW, 'LIMIT', '0', '1')[1]
    if not queue then return nil end
    if call('EXISTS', outbox_of(queue)) == 1 then
      call('ZADD', OUTBOXES, format('%d', now + TURN), queue)
      return queue
    end
    call('ZREM', OUTBOXES, queue)
  end
end

call('HDEL', META, '')
local queue = take_queue()
if not queue then return {} end
local reply, bytes = { queue }, 0
local ends = call('ZRANGE', outbox_of(queue), '0', format('%d', AT_ONCE - 1), 'WITHSCORES')
for i = 1, #ends, 2 do
  local sequence, state = end_of_outbox_score(ends[i + 1])
  local result = state == 'f' and result_of(ends[i]) or ''
  if i > 1 and bytes + #result > REPLY_BYTES then break end
  bytes = bytes + #result
  reply[#reply + 1], reply[#reply + 2] = ends[i], format('%.0f', sequence)
  reply[#reply + 1], reply[#reply + 2] = state, result
end
return reply
