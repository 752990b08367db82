-- Limits of a queue. META 'limits' is "concurrency (0 = any number)", and with a rate "concurrency starts period-in-ms
-- burst". Without this field the queue has no limits. A claim that finds no room left sets the key `full`; from then on
-- ready operations wake no worker. An operation that leaves its worker removes the key and wakes a worker. If the rate
-- is used up, the timer owner claims at the next start.
-- include: wake
-- include: rate

-- Uses n starts of the rate, whose bucket is META 'bucket'; a negative n gives them back.
local function use_starts(rate, n) call('HSET', META, 'bucket', rate.use(n)) end

-- Returns how many more may run now, with the changes that this call has not written yet; nil = any number.
local function places_of(text)
  local concurrency = tonumber(string.match(text, '^%d+'))
  if concurrency == 0 then return nil end
  return max(0, concurrency - tonumber(call('HGET', TOTALS, 'executing') or 0) - (added.executing or 0))
end

local function mark_full() call('SET', PREFIX .. 'full', '1') end
local function mark_open() call('DEL', PREFIX .. 'full') end

-- Wakes a worker for waiting operations, unless the queue is full.
local function announce_room()
  if call('EXISTS', PREFIX .. 'full') == 1 then return end
  if is_anything_ready() or call('EXISTS', PREFIX .. 'unhandled') == 1 then wake() end
end

-- Notes that an operation leaves its worker. If the queue was full, the end of the call wakes a worker.
local has_left
local function note_leaving()
  if has_left then return end
  has_left = true
  if call('DEL', PREFIX .. 'full') == 1 then at_end[#at_end + 1] = announce_room end
end
