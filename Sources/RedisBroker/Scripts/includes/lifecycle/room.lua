-- Limits of a queue: META 'limits' is "how many may run at once (0 = any number)", and with a rate "how many may start, in how many ms, how many
-- of them at once"; without this field there are none. From the claim that finds no room left on, the queue has the key `full`: what becomes
-- ready then wakes no worker. Whatever leaves its worker takes the key away and wakes one; where it is the rate, the timer owner comes.
-- include: wake

-- A rate is a bucket of `burst` starts; each start takes `step` microseconds to come back. META 'bucket' is the instant at which all are back.
local function rate_of(text, bucket)
  local count, period, burst = string.match(text, '^%d+ (%d+) (%d+) (%d+)$')
  if not count then return nil end
  local rate, microseconds = { step = max(1, floor(period * 1000 / count)) }, now * 1000
  rate.latest = microseconds + burst * rate.step
  rate.bucket = max(microseconds, min(tonumber(bucket or 0), rate.latest))
  return rate
end

local function starts_of(rate)
  local free = rate.latest - rate.bucket
  return (free - free % rate.step) / rate.step
end

-- When the next start has come back, in ms.
local function next_start(rate)
  return max(now + 1, now + math.ceil((rate.bucket + rate.step - rate.latest) / 1000))
end

-- n starts are used; or come back, if n is negative.
local function use_starts(rate, n)
  rate.bucket = rate.bucket + n * rate.step
  call('HSET', META, 'bucket', format('%.0f', rate.bucket))
end

-- How many more may run now, with what this call has not written yet; nil = any number.
local function places_of(text)
  local concurrency = tonumber(string.match(text, '^%d+'))
  if concurrency == 0 then return nil end
  return max(0, concurrency - tonumber(call('HGET', TOTALS, 'executing') or 0) - (added.executing or 0))
end

local function mark_full() call('SET', PREFIX .. 'full', '1') end
local function mark_open() call('DEL', PREFIX .. 'full') end

-- Wakes a worker for what waits, unless there is no room.
local function announce_room()
  if call('EXISTS', PREFIX .. 'full') == 0 and call('EXISTS', PREFIX .. 'lane:0', PREFIX .. 'lane:1', PREFIX .. 'lane:2',
    PREFIX .. 'lane:3', PREFIX .. 'lane:4', PREFIX .. 'unhandled') > 0 then wake() end
end

-- Something leaves its worker. At the end of the call a worker is woken, if there was no room before.
local has_left
local function note_leaving()
  if has_left then return end
  has_left = true
  if call('DEL', PREFIX .. 'full') == 1 then at_end[#at_end + 1] = announce_room end
end
