-- Removes operations that do not run, with everything stored about them.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     ids, at most 500
-- Output   a character for each: 1 removed, x it runs, 0 unknown
-- Events   none
-- include: base
-- include: limits
-- include: events
-- include: records
-- include: ending
-- include: unhandled
-- include: flush
local PLACES = { s = 'scheduled', t = 'retrying' }
local outcomes, erased, is_erased = {}, {}, {}
local leave_ready = unhandled_sets()
call('HDEL', META, '')

local function remove(id)
  local head = not is_erased[id] and head_of(id)
  if not head then return '0' end
  local stored, state = sub(head, 65, 65), state_of(head)
  if stored == 'x' then return 'x' end
  if state == 'r' then leave_ready(id, head) end
  if state == 'c' and stored ~= 'c' then add('clearing', -1) end
  if PLACES[state] then call('ZREM', PREFIX .. PLACES[state], id) end
  if TOTAL_OF[state] then call('ZREM', PREFIX .. 'ended:' .. state, id) else add('removed', 1) end
  if sub(head, 19, 27) ~= ZERO9 then call('ZREM', PREFIX .. 'expiring', id) end
  erased[#erased + 1], is_erased[id] = id, true
  return '1'
end

for i = 1, #ARGV do outcomes[i] = remove(ARGV[i]) end
if #erased > 0 then erase(erased) end
flush()
return concat(outcomes)
