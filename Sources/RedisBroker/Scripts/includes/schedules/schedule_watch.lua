-- META 'schedules' is "number of schedules, next instant or 0, timer owner". Without this field the queue has no
-- schedules. A heartbeat makes its own worker the timer owner of the schedules if the owner is gone, or if the instant
-- has passed.
-- include: schedule_entry
local PASSED_MS = 1000
local WATCHED = '^(%d+) (%d+) (%S*)$'

local function write_watch(count, due, worker) call('HSET', META, 'schedules', format('%d %d %s', count, due, worker)) end

-- Call this after a change of schedules. Returns whether an instant comes sooner than before.
local function note_schedules()
  local _, before, worker = string.match(call('HGET', META, 'schedules') or '0 0 ', WATCHED)
  local count, due = call('HLEN', SCHEDULES) / 2, next_of_schedules() or 0
  if count == 0 then call('HDEL', META, 'schedules') else write_watch(count, due, worker) end
  before = tonumber(before)
  return due > 0 and (before == 0 or due < before)
end

-- Asks all workers for a heartbeat, which may change the timer owner.
local function announce_schedules() pcall('PUBLISH', CHANNELS .. 'control', 'schedules') end

-- Milliseconds until this worker should look for due schedules; '' = it need not. `stored`: META 'schedules'.
local function watch_schedules(worker, stored)
  local count, due, watching = string.match(stored, WATCHED)
  due = tonumber(due)
  if due == 0 then return '' end
  if watching ~= worker then
    local lease = watching ~= '' and call('ZSCORE', PREFIX .. 'leases', watching)
    if lease and tonumber(lease) >= now and now - due < PASSED_MS then return '' end
    write_watch(count, due, worker)
  end
  return format('%d', max(0, due - now))
end

-- Gives up the timer of a worker that leaves.
local function leave_schedules(worker)
  local count, due, watching = string.match(call('HGET', META, 'schedules') or '', WATCHED)
  if watching ~= worker then return end
  write_watch(count, due, '')
  if due ~= '0' then announce_schedules() end
end
