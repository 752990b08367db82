-- Moves what is due to the tails of the lanes, and ends what was not started in time; all bounded.
-- include: unhandled

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
    local key = PREFIX .. place
    local ids = call('ZRANGEBYSCORE', key, '-inf', NOW, 'LIMIT', '0', format('%d', limit))
    call('ZREMRANGEBYRANK', key, '0', format('%d', #ids - 1))
    firsts[place] = nil
    return ids
  end

  -- A waiting record's header says the instant for which it waited, so it becomes the reference as it is: ready since then.
  local function promote_from(place, state, limit)
    local ids, lanes = take_due(place, limit), {}
    local expected = byte(state)
    for i = 1, #ids do
      local key = record_key(ids[i])
      local head = call('GETRANGE', key, '0', '64')
      if byte(head, 65) == expected then
        call('SETRANGE', key, '64', 'r')
        local header, lane = sub(head, 1, 64), byte(head, 3)
        local references = lanes[lane] or {}
        lanes[lane], references[#references + 1] = references, header
        event_of(header, 'r', true)
      end
    end
    for lane, references in pairs(lanes) do call('RPUSH', PREFIX .. 'lane:' .. char(lane), unpack(references)) end
    return #ids
  end

  local function expire_due(limit)
    local ids = take_due('expiring', limit)
    local leave_ready = #ids > 0 and unhandled_sets()
    for i = 1, #ids do
      local id = ids[i]
      local head = head_of(id)
      local state = head and sub(head, 65, 65)
      if state == 'r' or state == 's' or state == 'u' then
        if state == 's' then
          call('ZREM', PREFIX .. 'scheduled', id)
          firsts.scheduled = nil
        else
          leave_ready(id, head)
        end
        end_record(id, head, 'e', sub(head, 5, 7), next_revision(sub(head, 4, 4)))
      end
    end
  end

  local promoted = promote_from('scheduled', 's', PROMOTE_LIMIT)
  promoted = promoted + promote_from('retrying', 't', max(PROMOTE_LEAST, PROMOTE_LIMIT - promoted))
  expire_due(max(PROMOTE_LEAST, PROMOTE_LIMIT - promoted))
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
