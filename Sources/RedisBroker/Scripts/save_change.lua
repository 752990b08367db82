-- Stores the progress of a change and extends its lease.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1]  id  ARGV[2] fence  ARGV[3] progress  ARGV[4] e: the change has ended, o: it goes on  ARGV[5] lease in ms
-- Output   0 the change has ended, is unknown, or has another fence; 1 stored; 2 stored, and a stop was asked for
-- Events   none
-- include: base
-- include: change_heads
call('HDEL', META, '')
local head = change_head(ARGV[1])
if not head or head.state ~= 'o' or head.fence ~= tonumber(ARGV[2]) then return 0 end
head.state, head.lease = ARGV[4], now + ARGV[5]
write_change_head(ARGV[1], head)
call('HSET', META, ARGV[1] .. ':progress', ARGV[3])
return head.stopper == '' and 1 or 2
