-- Statistics over time: each report of a worker's counts is added to the current minute, hour and day.
--   statistics:m:H  hash of an hour: minute 0 to 59 → counts of the queue
--   statistics:h:H, statistics:d:D  hash of an hour, of a day: operation name → counts; '*' = all other names
-- Counts are a table of numbers without zeros (cmsgpack): enqueued, started, finished, failed, retried, cancelled,
-- microseconds of waiting and of running, then the histograms of both by duration. Few of these numbers are above zero,
-- so the table is small.
local STATISTICS_NAMES = 75
local MINUTES_KEPT_S, HOURS_KEPT_S, DAYS_KEPT_S = 93600, 176400, 2678400

local function add_counts(sum, counts)
  for i, n in pairs(counts) do sum[i] = (sum[i] or 0) + n end
end

-- Adds counts to a name. Once a hash has STATISTICS_NAMES names, all further names count together.
local function add_statistics(key, field, counts, seconds)
  local stored = call('HGET', key, field)
  if not stored then
    local is_full = field ~= '*' and call('HLEN', key) - call('HEXISTS', key, '*') >= STATISTICS_NAMES
    if is_full then return add_statistics(key, '*', counts, seconds) end
    call('HSET', key, field, cmsgpack.pack(counts))
    return call('EXPIRE', key, seconds)
  end
  local sum = cmsgpack.unpack(stored)
  add_counts(sum, counts)
  call('HSET', key, field, cmsgpack.pack(sum))
end

-- Adds counts of the queue to the current minute.
local function add_minute(counts)
  if not next(counts) then return end
  local minute = floor(now / 60000)
  local key = PREFIX .. 'statistics:m:' .. format('%d', floor(minute / 60))
  add_statistics(key, format('%d', minute % 60), counts, MINUTES_KEPT_S)
end

-- Reads deltas from ARGV[first] on. Each is a number, how many names, then name, counts, …. A delta is a repeat if its
-- number is not above the last one that was taken. Returns the sum over all names.
local function take_statistics(about, first)
  local sum = {}
  if not ARGV[first] then return sum end
  local hour, day = format('%d', floor(now / 3600000)), format('%d', floor(now / 86400000))
  local taken = tonumber(call('HGET', about, 'statistics') or 0)
  while ARGV[first] do
    local number, names = tonumber(ARGV[first]), tonumber(ARGV[first + 1])
    for i = first + 2, first + 2 * names, 2 do
      if number > taken then
        local counts = cmsgpack.unpack(ARGV[i + 1])
        add_statistics(PREFIX .. 'statistics:h:' .. hour, ARGV[i], counts, HOURS_KEPT_S)
        add_statistics(PREFIX .. 'statistics:d:' .. day, ARGV[i], counts, DAYS_KEPT_S)
        add_counts(sum, counts)
      end
    end
    taken = max(taken, number)
    first = first + 2 + 2 * names
  end
  call('HSET', about, 'statistics', format('%d', taken))
  return sum
end

-- Adds the operations that were enqueued since the last heartbeat. Their number is the sequence less `notEnqueued`,
-- which counts the sequence numbers of retries and the like.
local function add_enqueued(sum, sequence, counted)
  local enqueued = tonumber(sequence or 0) - tonumber(call('HGET', TOTALS, 'notEnqueued') or 0)
  local more = enqueued - tonumber(counted or 0)
  if more <= 0 then return end
  sum[1] = (sum[1] or 0) + more
  call('HSET', META, 'counted', format('%d', enqueued))
end
