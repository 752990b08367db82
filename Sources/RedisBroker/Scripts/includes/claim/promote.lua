-- Moves what is due to the tails of the lanes, and ends what was not started in time; all bounded.
-- include: limits
-- include: expire
-- include: enter_queue
-- include: leave_waiting
-- include: limit_keys

-- The first instant of each place is read once and forgotten where the place changes.
local firsts = {}
local function nothing_waits() firsts = { scheduled = false, retrying = false, expiring = false } end

local function first_of(place)
  if firsts[place] == nil then firsts[place] = tonumber(call('ZRANGE', PREFIX .. place, '0', '0', 'WITHSCORES')[2]) or false end
  return firsts[place]
end

-- At most PROMOTE_LIMIT in all while one place has that many; the next claim goes on. No place waits for another one. What few
-- claims need is made here, and not with each run of the script.
local function promote()
  -- The ids that are due, at most `limit`, taken out.
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

-- The instant of the next thing to promote, or nil.
local function next_due()
  local earliest
  for _, place in ipairs({ 'scheduled', 'retrying', 'expiring' }) do
    local first = first_of(place)
    if first and (not earliest or first < earliest) then earliest = first end
  end
  return earliest
end
