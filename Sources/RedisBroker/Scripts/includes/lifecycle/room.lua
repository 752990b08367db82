-- Limits of a queue: META 'limits' is "how many may run at once (0 = any number)", and with a rate "how many may start, in how many ms, how many
-- of them at once"; without this field there are none. From the claim that finds no room left on, the queue has the key `full`: what becomes
-- ready then wakes no worker. Whatever leaves its worker takes the key away and wakes one; where it is the rate, the timer owner comes.
-- include: wake
-- include: rate

-- META 'bucket' is the bucket of the rate: n starts are used; or come back, if n is negative.
local function use_starts(rate, n) call('HSET', META, 'bucket', rate.use(n)) end

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
