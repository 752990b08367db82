-- Holds waiting operations for an operator: they are blocked until they are released, cancelled or expire.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] reason  ARGV[3…] ids, at most 500
-- Output   a character for each: 1 held, the letter of the state that forbids it, 0 unknown
-- Events   b for each, with the change
-- include: base
-- include: expire
-- include: leave_waiting
-- include: enter_queue
-- include: flush
-- A removing command comes first: an operator's hold must work when Redis is full.
call('HDEL', META, '')
local by, reason = ARGV[1], ARGV[2]
local outcomes, changed, last_changed = {}, 0, nil

local function hold(id)
  local head = head_in_time(id)
  if not head then return '0' end
  local state = state_of(head)
  if state ~= 'r' and state ~= 's' and state ~= 't' then return state end
  leave_waiting(id, head)
  enter_blocked(id, head, state, by, reason)
  changed, last_changed = changed + 1, id
  return '1'
end

for i = 3, #ARGV do outcomes[i - 2] = hold(ARGV[i]) end
if changed > 0 then note_change('hold', by, changed, reason, last_changed) end
flush()
return concat(outcomes)
