-- in the base
-- The wake-up token of a queue is a list of at most one element: the worker that pops it may claim next.
local function wake()
  if call('LLEN', PREFIX .. 'wake') == 0 then call('RPUSH', PREFIX .. 'wake', '1') end
end

-- The same for what is ready: while as many run as may, it wakes no worker (see room.lua).
local function wake_for_ready()
  if call('EXISTS', PREFIX .. 'wake', PREFIX .. 'full') == 0 then call('RPUSH', PREFIX .. 'wake', '1') end
end

-- Something is due at `due`: wakes a worker if the timer owner does not know of an instant that early.
local function announce_due(due)
  local known = tonumber(call('HGET', META, 'next') or 0)
  if known == 0 or due < known then wake() end
end
