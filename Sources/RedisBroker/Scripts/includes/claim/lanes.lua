-- Chooses the lane of a claim. Priority decides, but every fifth claimed operation of a queue comes from the lane of
-- highest effective priority: the number of the lane, plus one for each 30 s that its head has waited. An old backlog
-- cannot block urgent operations, and a stream of urgent operations cannot starve the rest.
-- include: limits
-- include: admit
-- include: limit_keys
local AGED_EVERY = 5

local function highest(heads)
  for lane = 4, 0, -1 do
    if heads[lane] then return lane end
  end
end

-- A tie goes to the lane whose head has waited longer, then to the higher lane.
local function most_aged(heads)
  local best, best_value, best_ready
  for lane = 4, 0, -1 do
    local head = heads[lane]
    if head then
      local ready = ready_at_of(head)
      local value = lane + floor(max(0, now - ready) / AGEING_MS)
      if not best or value > best_value or (value == best_value and ready < best_ready) then
        best, best_value, best_ready = lane, value, ready
      end
    end
  end
  return best
end

-- Takes up to `capacity` elements from the lanes. Stops once 256 KiB were read or TRACKED_BATCH elements are tracked,
-- because the server does nothing else meanwhile. A popped element must be handed out, so at most `step` are popped at
-- once. `plain`: only the middle lane can have elements. Also returns whether a lane still has one.
local function collect(capacity, fence, intents, step, plain)
  local taken, heads, bytes = { references = {}, keys = {}, tracked = 0 }, {}, 0
  local budget = min(2 * capacity + 100, 600)
  for lane = plain and 2 or 0, plain and 2 or 4 do heads[lane] = call('LINDEX', PREFIX .. 'lane:' .. lane, '0') end
  while #taken < capacity and budget > 0 and bytes < REPLY_BYTES and taken.tracked < TRACKED_BATCH do
    local top, aged = highest(heads), most_aged(heads)
    if not top then return taken, false end
    local lane, wanted = top, min(capacity - #taken, budget)
    if aged ~= top then
      local before_aged = (AGED_EVERY - 1 - fence - #taken) % AGED_EVERY
      if before_aged == 0 then lane, wanted = aged, 1 else wanted = min(wanted, before_aged) end
    end
    while wanted > 0 and bytes < REPLY_BYTES and taken.tracked < TRACKED_BATCH do
      local elements = pop_lane(lane, min(wanted, step, TRACKED_BATCH - taken.tracked))
      if not elements then break end
      wanted, budget = wanted - #elements, budget - #elements
      bytes = bytes + admit(elements, taken, intents)
    end
    -- The taken operations may have made way for others of their limit keys, in any lane.
    for other = limit_keys and 0 or lane, limit_keys and 4 or lane do heads[other] = call('LINDEX', PREFIX .. 'lane:' .. other, '0') end
  end
  return taken, highest(heads) ~= nil
end
