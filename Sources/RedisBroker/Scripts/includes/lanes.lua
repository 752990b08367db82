-- Which lane a claim takes from. Priority decides; but every fifth hand-out of a queue goes to the lane of highest effective
-- priority: its rank, and one more for each 30 s that its head has waited. So neither an old backlog holds up what is urgent,
-- nor does a stream of urgent ones starve the rest.
local AGED_EVERY = 5

-- How many of the hand-outs that follow `fence` go by age.
local function aged_share(fence, capacity)
  return floor((fence + capacity) / AGED_EVERY) - floor(fence / AGED_EVERY)
end

local function highest(heads)
  for lane = 4, 0, -1 do
    if heads[lane] then return lane end
  end
end

-- Between equals the lane whose head waits longer, then the higher one.
local function most_aged(heads)
  local best, best_value, best_ready
  for lane = 4, 0, -1 do
    local head = heads[lane]
    if head then
      local ready = tonumber(sub(head, 10, 18), 36)
      local value = lane + floor(max(0, now - ready) / AGEING_MS)
      if not best or value > best_value or (value == best_value and ready < best_ready) then
        best, best_value, best_ready = lane, value, ready
      end
    end
  end
  return best
end

-- Takes up to `capacity` elements from the lanes, and no more once they have 256 KiB: copying
-- keeps the server busy too. Also returns whether a lane still has something.
local function collect(capacity, fence, intents)
  local taken, heads, budget, bytes = { references = {}, keys = {} }, {}, 2 * capacity + 100, 0
  local aged = aged_share(fence, capacity)
  for lane = 0, 4 do heads[lane] = call('LINDEX', PREFIX .. 'lane:' .. lane, 0) end
  -- What is popped must be handed out, so few are popped at once, and very few as long as they may be large.
  local step = 16
  while #taken < capacity and budget > 0 and bytes < REPLY_BYTES do
    local top = highest(heads)
    if not top then return taken, false end
    local lane = aged > 0 and most_aged(heads) or top
    local wanted = min(capacity - #taken, budget)
    if lane ~= top then wanted = min(wanted, aged) end
    local before, key = #taken, PREFIX .. 'lane:' .. lane
    while wanted > 0 and bytes < REPLY_BYTES do
      local elements = call('LPOP', key, min(wanted, step))
      if not elements then break end
      wanted, budget = wanted - #elements, budget - #elements
      bytes = bytes + admit(elements, taken, intents)
      step = bytes < 1024 * #taken and 64 or 16
    end
    if lane ~= top then aged = aged - (#taken - before) end
    heads[lane] = call('LINDEX', key, 0)
  end
  return taken, highest(heads) ~= nil
end
