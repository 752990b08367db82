-- Asks for the stop of a change. The program that performs it reads this with its next step.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1]  id  ARGV[2] by (one word)
-- Output   1 asked for, 0 the change has ended or is unknown
-- Events   none
-- include: base
-- include: change_heads
call('HDEL', META, '')
local head = change_head(ARGV[1])
if not head or head.state ~= 'o' then return 0 end
if head.stopper == '' then
  head.stopper = ARGV[2]
  write_change_head(ARGV[1], head)
end
return 1
