-- in the base
-- A rate, "starts, period in ms, burst", is a token bucket. A used start is available again after `step` microseconds.
-- The stored value of a bucket is the instant, in microseconds, at which all starts are available again.
-- include: start

-- `text` ends with the rate, `bucket` is the stored value. nil = no rate.
local function rate_of(text, bucket)
  local count, period, burst = string.match(text, '(%d+) (%d+) (%d+)$')
  if not count then return nil end
  local step = max(1, floor(period * 1000 / count))
  local latest = now * 1000 + burst * step
  local full_at = max(now * 1000, min(tonumber(bucket or 0), latest))

  -- Returns how many may start now.
  local function starts()
    local free = latest - full_at
    return (free - free % step) / step
  end

  -- The instant of the next start, in ms.
  local function next_start() return max(now + 1, now + math.ceil((full_at + step - latest) / 1000)) end

  -- Uses n starts; a negative n gives them back. Returns the value to store.
  local function use(n)
    full_at = max(now * 1000, min(latest, full_at + n * step))
    return format('%.0f', full_at)
  end

  return { starts = starts, next_start = next_start, use = use }
end
