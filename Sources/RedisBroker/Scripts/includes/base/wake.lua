-- in the base
-- The wake-up token of a queue is a list of at most one element: the worker that pops it may claim next.
local function wake()
  if call('LLEN', PREFIX .. 'wake') == 0 then call('RPUSH', PREFIX .. 'wake', '1') end
end

-- Whether a lane has an element.
local function is_anything_ready()
  return call('EXISTS', PREFIX .. 'lane:0', PREFIX .. 'lane:1', PREFIX .. 'lane:2', PREFIX .. 'lane:3', PREFIX .. 'lane:4') > 0
end

-- Wakes a worker for ready operations, unless the queue is marked as full (see room.lua).
local function wake_for_ready()
  if call('EXISTS', PREFIX .. 'wake', PREFIX .. 'full') == 0 then call('RPUSH', PREFIX .. 'wake', '1') end
end

-- Wakes a worker if `due`, in ms, is earlier than the instant that the timer owner knows, or if it knows none.
local function announce_due(due)
  local known = tonumber(call('HGET', META, 'next') or 0)
  if known == 0 or due < known then wake() end
end
