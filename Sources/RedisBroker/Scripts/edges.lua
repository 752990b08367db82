-- Reads what an operation depends on, or what depends on it, a part at a time.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  id  ARGV[2] needs | dependents  ARGV[3] cursor, 0 = the beginning
-- Output   cursor of the rest (0 = none), then the id of each
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
for i = 1, #scan[2], 2 do reply[#reply + 1] = scan[2][i] end
return reply
