-- Removes a schedule. Operations that it has enqueued stay.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] id
-- Output   1 removed, 0 no such schedule
-- Events   the change
-- include: base
-- include: schedule_watch
-- include: flush
local id = ARGV[2]
-- A removing command first: a removal must work when Redis is full.
if call('HDEL', SCHEDULES, id, 'runs:' .. id) == 0 then return 0 end
call('ZREM', DUE, id)
note_schedules()
note_change('removeSchedule', ARGV[1], 0, id)
flush()
return 1
