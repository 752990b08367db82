-- Moves due operations to the tails of their lanes, and ends operations that did not start in time. Each call is
-- bounded.
-- include: limits
-- include: expire
-- include: enter_queue
-- include: leave_waiting
-- include: limit_keys

-- The first instant of each place is read once. A change of the place clears it.
local firsts = {}
local function nothing_waits() firsts = { scheduled = false, retrying = false, expiring = false } end

local function first_of(place)
  if firsts[place] == nil then firsts[place] = tonumber(call('ZRANGE', PREFIX .. place, '0', '0', 'WITHSCORES')[2]) or false end
  return firsts[place]
end

-- Promotes due operations. Each place gets PROMOTE_LIMIT less what the places before it took, but at least
-- PROMOTE_LEAST, so no place waits for another. The next claim goes on. Few claims need the inner functions, so Lua
-- makes them here and not with each run of the script.
local function promote()
  -- Takes the due ids out of a place, at most `limit`.
  local function take_due(place, limit)
    local first = first_of(place)
    if not first or first > now then return {} end
    local ids = pop_due(place, limit)
    firsts[place] = nil
    return ids
  end

  local function promote_from(place, state, limit)
    local ids = take_due(place, limit)
    enter_due(ids, state)
    return #ids
  end

  local function expire_those_due(limit)
    local first = first_of('expiring')
    if not first or first > now then return end
    local _, was_scheduled = expire_due(limit)
    firsts.expiring = nil
    if was_scheduled then firsts.scheduled = nil end
  end

  local promoted = promote_from('scheduled', 's', PROMOTE_LIMIT)
  promoted = promoted + promote_from('retrying', 't', max(PROMOTE_LEAST, PROMOTE_LIMIT - promoted))
  expire_those_due(max(PROMOTE_LEAST, PROMOTE_LIMIT - promoted))
end

-- Returns the instant of the next promotion or expiry, or nil.
local function next_due()
  local earliest
  for _, place in ipairs({ 'scheduled', 'retrying', 'expiring' }) do
    local first = first_of(place)
    if first and (not earliest or first < earliest) then earliest = first end
  end
  return earliest
end
