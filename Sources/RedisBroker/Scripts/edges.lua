-- Reads the dependencies or the dependents of an operation, a part at a time.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  id, or QUEUE/ID of one in another queue  ARGV[2] needs | dependents  ARGV[3] cursor, 0 = the beginning
-- Output   cursor of the rest (0 = none), then the name of each (an id, or QUEUE/ID); with the first part of the
--          dependents also "QUEUE/" for each other queue that may have more of them
-- Events   none (reads only)
-- include: base
-- include: needs
local id, cursor = ARGV[1], ARGV[3]
local scan
if ARGV[2] == 'needs' then
  scan = call('HSCAN', needs_key(id), cursor, 'COUNT', '200')
else
  scan = call('ZSCAN', dependents_key(id), cursor, 'COUNT', '200')
end
local reply = { scan[1] }
if ARGV[2] == 'dependents' and cursor == '0' then
  for queue in string.gmatch(call('HGET', extras_key(id), 'dependentQueues') or '', '%S+') do reply[#reply + 1] = queue .. '/' end
end
for i = 1, #scan[2], 2 do
  if scan[2][i] ~= OPEN then reply[#reply + 1] = scan[2][i] end
end
return reply
