-- Renews a worker's lease and returns the news for the worker.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2] lease in ms  ARGV[3] heartbeat interval in ms  ARGV[4] epoch  ARGV[5] the worker's
--          description of itself
-- ARGV[6]  number of the newest set of unhandled operations that the worker knows from an earlier answer
-- ARGV[7]  the build of the app, '' = none
-- ARGV[8…] statistics: number, how many names, then name and counts of each; absent if the worker has none
-- Output   operations in its in-flight hash, 1 if an operation could start, 1 if a sweep is due, fence up to which
--          everything is cancelled, number of the newest set of unhandled operations, names of all unhandled operations
--          (with spaces between; '' if the worker knows that number), what operators have set for the worker: course
--          and slots ("value, when, by", '' = nothing), server time, the last cancel of the whole queue, what a limit
--          leaves ("how many may start, how many of these a worker may hold ahead", '' = no limit; the second is absent
--          if any number may run), milliseconds until the worker should look for due schedules ('' = it need not), then
--          fence and "instant by reason" of each cancel request, with "!id " before it if it was forced
-- Events   none
-- include: base
-- include: numbers
-- include: room
-- include: schedule_watch
-- include: take_statistics
-- include: keep_build
-- include: remote
-- include: outboxes
local worker, lease, interval = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- A removing command first: a lease must be renewed when Redis is full.
call('HDEL', META, '')
local m = call('HMGET', META, 'lastSeen', 'leaseFloor', 'paused', 'pausedUntil', 'cancelledFence', 'unhandled', 'sequence', 'counted',
  'cancelTrace', 'limits', 'recounted', 'bucket', 'schedules')

-- A gap is a time without any heartbeat in which the lease of a live worker may have lapsed (Redis was away), or a
-- clock that went back. After a gap, no worker counts as lost for one lease.
local floor_at = tonumber(m[2] or 0)
local seen = tonumber(m[1] or now)
local gap = floor(min(interval + 2000, lease - 1.5 * interval))
local is_gap = now - seen > gap or now < seen
if is_gap then
  floor_at = now + lease
  call('HSET', META, 'leaseFloor', format('%d', floor_at))
end
-- A gap was an outage if a worker from before the gap sends a heartbeat again. Until `floor_at`, a lapsed lease then
-- proves no loss. If only new workers send heartbeats, no worker was running, and the workers from before are lost.
if floor_at >= now then
  local held_until = call('ZSCORE', PREFIX .. 'leases', worker)
  if held_until and (is_gap or tonumber(held_until) < now) then
    call('HSET', META, 'outageUntil', format('%d', floor_at))
  end
end
call('HSET', META, 'lastSeen', NOW, 'longestGap', format('%d', gap))
call('ZADD', PREFIX .. 'leases', now + lease, worker)
local key = PREFIX .. 'worker:' .. worker
local about = call('HMGET', key, 'epoch', 'number', 'course', 'slots')
-- Records name their worker by a short number, unique in the queue.
if not about[2] and ARGV[7] ~= '' then keep_build(ARGV[7]) end
local number = about[2] or string.match(time36(call('HINCRBY', META, 'workers', 1)), '....$')
call('HSET', PREFIX .. 'numbers', number, worker)
local epoch = max(tonumber(about[1] or 0), tonumber(ARGV[4]))
call('HSET', key, 'epoch', format('%d', epoch), 'number', number, 'beatAt', NOW, 'info', ARGV[5])
call('PEXPIRE', key, format('%d', 3600000 + lease))
local counts = take_statistics(key, 8)
add_enqueued(counts, m[7], m[8])
add_minute(counts)

-- A worker that no longer claims cannot be the timer owner.
local course = about[3] or ''
if course ~= '' and find(course, 'running ', 1, true) ~= 1 then drop_timer(worker) end

local function is_due(place)
  local first = call('ZRANGE', PREFIX .. place, 0, 0, 'WITHSCORES')[2]
  return first and tonumber(first) <= now
end

local paused = m[3] == '1' and (not m[4] or tonumber(m[4]) > now)
local startable = 0
if not paused then
  if is_anything_ready() then startable = 1 end
  for _, place in ipairs({ 'scheduled', 'retrying', 'expiring' }) do
    if is_due(place) then startable = 1 end
  end
end

-- A concurrency limit relies on the stored count of running operations. If that count leaves no room, the operations
-- are counted again, at most once per heartbeat interval, and only in a queue with at most 1,000 workers.
local function recount()
  local workers, held = call('ZRANGE', PREFIX .. 'leases', 0, 999), 0
  if call('ZCARD', PREFIX .. 'leases') > #workers then return end
  for i = 1, #workers do held = held + call('HLEN', PREFIX .. 'inflight:' .. workers[i]) end
  call('HSET', TOTALS, 'executing', format('%d', held))
end

local function recounted_places()
  local places, at = places_of(m[10]), tonumber(m[11] or 0)
  if places ~= 0 or (now >= at and now - at < interval) then return places end
  call('HSET', META, 'recounted', NOW)
  recount()
  places = places_of(m[10])
  if places > 0 then mark_open() end
  return places
end

-- The room that a limit leaves: how many more may start, and how many of these a worker may hold ahead of its slots.
local left = ''
if m[10] then
  local places, rate = recounted_places(), rate_of(m[10], m[12])
  local starts = rate and rate.starts() or places
  local room = min(places or starts, starts)
  if room == 0 then startable = 0 end
  left = format('%d ', room) .. (places and format('%d', floor(places / (2 * call('ZCARD', PREFIX .. 'leases')))) or '')
end

local lapsed = floor_at < now and #call('ZRANGEBYSCORE', PREFIX .. 'leases', '-inf', format('(%d', now), 'LIMIT', 0, 1) > 0
local ask_at = call('ZRANGE', ASKING, 0, 0, 'WITHSCORES')[2]
local is_ask_due = ask_at and tonumber(ask_at) <= now
local sweep = (lapsed or is_ask_due or is_due('expiring') or call('EXISTS', PREFIX .. 'batches', OUTBOX, OUTBOXES) > 0) and 1 or 0
local newest, names = m[6] or '0', ''
if newest ~= ARGV[6] then names = concat(call('ZRANGE', PREFIX .. 'unhandled', 0, -1), ' ') end
local reply = { call('HLEN', PREFIX .. 'inflight:' .. worker), startable, sweep, m[5] or '0', newest, names, course,
  about[4] or '', NOW, m[9] or '', left, m[13] and watch_schedules(worker, m[13]) or '' }
local requests = call('HGETALL', PREFIX .. 'cancelling:' .. worker)
for i = 1, #requests, 2 do
  reply[#reply + 1] = requests[i]
  reply[#reply + 1] = requests[i + 1]
end
return reply
