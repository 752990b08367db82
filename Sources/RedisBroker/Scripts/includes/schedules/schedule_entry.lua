-- in the base
-- Schedules. The hash `schedules` has two fields for each schedule. The field ID has "revision, 1 if it is paused, when
-- it was changed, by whom", a line feed and the definition. The field `runs:ID` has "how many instants were enqueued,
-- the last of them, id of its operation, the last instant that was missed, the last one that its unique key kept from
-- being enqueued", a line feed and why the schedule has stopped. `schedules:due` has the ids of active schedules by
-- their next instant.
local SCHEDULES, DUE = PREFIX .. 'schedules', PREFIX .. 'schedules:due'
local NEVER_FIRED = '0 0 - 0 0\n'

-- Returns the definition and the fields before it; nil = no such schedule.
local function schedule_head(id)
  local entry = call('HGET', SCHEDULES, id)
  if not entry then return nil end
  local revision, paused, at, by, definition = string.match(entry, '^(%d+) ([01]) (%d+) (%S*)\n(.*)$')
  return { revision = revision, paused = paused, at = at, by = by, definition = definition }
end

local function next_of_schedules() return tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]) end

-- Milliseconds until the next instant; '' = none.
local function until_next()
  local due = next_of_schedules()
  return due and format('%d', max(0, due - now)) or ''
end
