-- Enqueues the operation of a schedule's instant, if that is still its next one, and sets the next. All workers may
-- try; one succeeds.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  id  ARGV[2] the instant  ARGV[3] the revision of its definition  ARGV[4] the instant after it, '' = none
-- ARGV[5]  1 = instants were missed  ARGV[6] why the schedule cannot go on, '' = it can
-- ARGV[7…] one operation as enqueue_linked.lua takes it: the front of its header, 1, its links if the front says so,
--          its id and its envelope; absent = no operation is enqueued
-- Output   1 done, 0 it was done before, or the schedule has changed, or the instant has not come yet; milliseconds
--          until the next instant of any schedule, '' = none
-- Events   r, s or b for the operation, c for each that it supersedes; the change, if the schedule stops
-- include: base
-- include: groups
-- include: size
-- include: links
-- include: enter_linked
-- include: schedule_watch
-- include: flush
local id, instant, fault = ARGV[1], tonumber(ARGV[2]), ARGV[6]
local head, due = schedule_head(id), tonumber(call('ZSCORE', DUE, id))
if not head or due ~= instant or head.revision ~= ARGV[3] or instant > now then return { 0, until_next() } end
local runs = call('HGET', SCHEDULES, 'runs:' .. id)
local fired, last, last_id, missed, overlapped = string.match(runs, '^(%d+) (%d+) (%S+) (%d+) (%d+)\n')

-- Returns an outcome as enqueue_linked.lua does, or nil and the error.
local function enqueue_one()
  local groups, n, largest = read_groups(7, '[013]')
  if not groups then return nil, n end
  if n > 1 then return nil, 'ERR sluice: ' .. n .. ' operations for an instant of a schedule, expected 1' end
  local links, wrong = read_links(groups)
  if not links then return nil, wrong end
  note_large(largest)
  return enter_new(groups, n, function(group, _, number)
    return enter_linked(group.front, number, links[group.from], ARGV[group.from + 1])
  end)
end

if #ARGV > 6 then
  local outcome, wrong = enqueue_one()
  if not outcome then return redis.error_reply(wrong) end
  if find(outcome, '^[01]') then
    fired, last, last_id = fired + 1, instant, sent_id_of(ARGV[#ARGV])
  else
    overlapped = instant
  end
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
call('HSET', SCHEDULES, 'runs:' .. id, format('%d %d %s %d %d\n', fired, last, last_id, missed, overlapped) .. fault)
note_schedules()
flush()
return { 1, until_next() }
