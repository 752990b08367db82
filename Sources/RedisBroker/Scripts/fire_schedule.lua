-- Enqueues the operation of a schedule's instant, if that is still its next one, and sets the next. All workers may try: one does.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  id  ARGV[2] the instant  ARGV[3] the revision of its definition  ARGV[4] the instant after it, '' = there is none
-- ARGV[5]  1 = instants were missed  ARGV[6] why it cannot go on, '' = it can
-- ARGV[7…] one operation as enqueue.lua takes it: the front of its header, 1, its id and its envelope; nothing = none is enqueued
-- Output   1 done, 0 it was done before, or the schedule has changed, or the instant is not there yet; milliseconds until the next instant of
--          any schedule, '' = there is none
-- Events   r or s for the operation; that the schedule has stopped
-- include: base
-- include: groups
-- include: size
-- include: enter_new
-- include: schedule_watch
-- include: flush
local id, instant, fault = ARGV[1], tonumber(ARGV[2]), ARGV[6]
local head, due = schedule_head(id), tonumber(call('ZSCORE', DUE, id))
if not head or due ~= instant or head.revision ~= ARGV[3] or instant > now then return { 0, until_next() } end
local fired, last, last_id, missed = string.match(call('HGET', SCHEDULES, 'runs:' .. id), '^(%d+) (%d+) (%S+) (%d+)\n')
if #ARGV > 6 then
  local groups, n, largest = read_groups(7, '[01]')
  if not groups then return redis.error_reply(n) end
  if n > 1 then return redis.error_reply('ERR sluice: a schedule enqueues one operation an instant') end
  note_large(largest)
  enter_new(groups, n)
  fired, last, last_id = fired + 1, instant, sent_id_of(ARGV[9])
end
if ARGV[5] == '1' then missed = instant end
if fault ~= '' then
  note_change('stopSchedule', '-', 0, id .. ': ' .. fault)
  call('ZREM', DUE, id)
elseif ARGV[4] == '' then
  call('ZREM', DUE, id)
else
  call('ZADD', DUE, ARGV[4], id)
end
call('HSET', SCHEDULES, 'runs:' .. id, format('%d %d %s %d\n', fired, last, last_id, missed) .. fault)
note_schedules()
flush()
return { 1, until_next() }
