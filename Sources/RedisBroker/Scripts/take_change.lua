-- Takes an open change whose lease has ended, to perform it.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1]  id  ARGV[2] fence that was read  ARGV[3] lease in ms
-- Output   it cannot be taken: an empty list; otherwise as next_change.lua
-- Events   none
-- include: base
-- include: change_heads
call('HDEL', META, '')
local head = change_head(ARGV[1])
if not head or head.state ~= 'o' or head.lease > now or head.fence ~= tonumber(ARGV[2]) then return {} end
head.fence, head.lease = head.fence + 1, now + ARGV[3]
write_change_head(ARGV[1], head)
return change_row(ARGV[1], head)
