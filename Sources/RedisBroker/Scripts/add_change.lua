-- Stores a change of many operations, which a dashboard performs in steps.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1]  id  ARGV[2] definition  ARGV[3] progress  ARGV[4] how many may be open  ARGV[5] how many are stored at most
-- Output   1 stored, 2 it was stored before, 0 as many as may be are open
-- Events   none
-- include: base
-- include: change_heads
call('HDEL', META, '')
if call('HEXISTS', META, ARGV[1]) == 1 then return 2 end
local ids, open, ended = change_ids(), 0, {}
for _, id in ipairs(ids) do
  if change_head(id).state == 'o' then open = open + 1 else ended[#ended + 1] = id end
end
if open >= tonumber(ARGV[4]) then return 0 end
for i = 1, min(#ended, #ids + 1 - ARGV[5]) do
  call('HDEL', META, ended[i], ended[i] .. ':definition', ended[i] .. ':progress')
end
write_change_head(ARGV[1], { state = 'o', fence = 0, lease = 0, created = NOW, stopper = '' })
call('HSET', META, ARGV[1] .. ':definition', ARGV[2], ARGV[1] .. ':progress', ARGV[3])
return 1
