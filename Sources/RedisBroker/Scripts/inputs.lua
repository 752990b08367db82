-- Reads how the dependencies of an operation ended, and their results.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  id  ARGV[2] cursor, 0 = the beginning
-- Output   cursor of the rest (0 = none), then for each dependency: its name, how it ended (f d c e, m = removed,
--          - = it has not), and 1 and its result, 2 = the result, if any, is stored with that operation, or 0 = none
-- Events   none (reads only)
-- include: base
-- include: keep_input
-- include: needs
local id = ARGV[1]
local scan = call('HSCAN', needs_key(id), ARGV[2], 'COUNT', '100')
local reply = { scan[1] }

local function answer(dependency, ended)
  if ended ~= 'f' then return '0' end
  local result = call('HGET', inputs_key(id), dependency)
  if result then return '1' .. result end
  if is_remote(dependency) then return '2' end
  local size = call('HSTRLEN', extras_key(dependency), 'result')
  if size == 0 then return call('EXISTS', record_key(dependency)) == 1 and '1' or '0' end
  return '2'
end

for i = 1, #scan[2], 2 do
  local _, ended = read_need(scan[2][i + 1])
  reply[#reply + 1] = scan[2][i]
  reply[#reply + 1] = ended
  reply[#reply + 1] = answer(scan[2][i], ended)
end
return reply
