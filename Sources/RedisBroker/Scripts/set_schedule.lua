-- Sets, pauses or resumes a schedule.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] the change: setSchedule, pauseSchedule, resumeSchedule  ARGV[3] id  ARGV[4] its
--          current revision, 0 = a new schedule
-- ARGV[5]  its next instant, '' = none  ARGV[6] 1 = paused  ARGV[7] definition, '' = as it was  ARGV[8] one line about
--          the change
-- ARGV[9]  how many a queue may have
-- Output   its new revision; 0 = it has another one now; -1 = the queue has as many schedules as it may
-- Events   the change
-- include: base
-- include: schedule_watch
-- include: flush
local by, id, expected, due = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
local head = schedule_head(id)
if (head and head.revision or '0') ~= expected or not head and ARGV[7] == '' then return 0 end
if not head and call('HLEN', SCHEDULES) >= 2 * tonumber(ARGV[9]) then return -1 end
-- The revision of a removed schedule must not come again.
local revision = call('HINCRBY', META, 'scheduleRevision', '1')
local definition = ARGV[7] ~= '' and ARGV[7] or head.definition
call('HSET', SCHEDULES, id, format('%d %s %d %s\n', revision, ARGV[6], now, by) .. definition)
call('HSETNX', SCHEDULES, 'runs:' .. id, NEVER_FIRED)
local runs = call('HGET', SCHEDULES, 'runs:' .. id)
-- The schedule goes on, even if an error has stopped it.
if not find(runs, '\n$') then call('HSET', SCHEDULES, 'runs:' .. id, string.match(runs, '^[^\n]*\n')) end
if due ~= '' then call('ZADD', DUE, due, id) else call('ZREM', DUE, id) end
if note_schedules() then announce_schedules() end
note_change(ARGV[2], by, 0, id .. (ARGV[8] ~= '' and ' ' or '') .. ARGV[8])
flush()
return revision
