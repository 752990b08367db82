-- One page of a state's place.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  letter of the state  ARGV[2] cursor, '' = the beginning  ARGV[3] rows, at most 200; fewer where they have 4 MiB
-- Output   cursor of the next page ('' = none), then for each row: a detail (see details.lua), or for an untracked operation
--          element, state, owner
-- Events   none (reads only)
-- include: base
-- include: rows
-- include: fences
-- include: batches
-- Unhandled ones, in the order of their sets' numbers and then as they wait; the cursor is "u number score" of the last row.
local function page_of_unhandled(number, score)
  local numbers = {}
  reply[1] = 'u ' .. format('%d', number) .. ' ' .. score
  for _, field in ipairs(call('HKEYS', PREFIX .. 'unhandled:names')) do
    local other = tonumber(string.match(field, '^#(%d+)'))
    if other and other >= number then numbers[#numbers + 1] = other end
  end
  table.sort(numbers)
  for i = 1, #numbers do
    if numbers[i] ~= number then score = '-inf' end
    local entries = call('ZRANGEBYSCORE', PREFIX .. 'unhandled:' .. format('%d', numbers[i]), score, '+inf', 'WITHSCORES',
      'LIMIT', 0, limit + 2 - #reply)
    for n = 1, #entries, 2 do
      if #reply - 1 == limit or is_full() then return end
      local row = detail(entries[n])
      if row[2] == state then reply[#reply + 1] = row end
      reply[1] = 'u ' .. format('%d', numbers[i]) .. ' (' .. entries[n + 1]
    end
    if #reply - 1 == limit then return end
  end
  reply[1] = ''
end

-- Lanes: the highest priority first, next to run first; the cursor is "lane position". Unhandled ones come behind them.
local function page_of_lanes()
  local lane, position = string.match(cursor, '^(%d) (%d+)$')
  local number, score = string.match(cursor, '^u (%d+) (%S+)$')
  if number then return page_of_unhandled(tonumber(number), score) end
  lane, position = tonumber(lane or 4), tonumber(position or 0)
  local looked, steps = 0, 0
  while lane >= 0 and #reply - 1 < limit and looked + steps < 5 * limit and not is_full() do
    local wanted = min(limit - (#reply - 1), affordable(looked))
    local elements = call('LRANGE', PREFIX .. 'lane:' .. lane, position, position + wanted - 1)
    for i = 1, #elements do
      row_of(elements[i], '')
      looked, position = looked + 1, position + 1
      if is_full() then break end
    end
    steps = steps + 1
    if #elements == 0 then lane, position = lane - 1, 0 end
  end
  if lane >= 0 then reply[1] = lane .. ' ' .. position else page_of_unhandled(0, '-inf') end
end

-- What runs: worker by worker, each in order of fences; the cursor is the number of rows that went before.
local function page_of_executing()
  local skip, seen = tonumber(cursor == '' and 0 or cursor), 0
  for _, worker in ipairs(call('ZRANGE', PREFIX .. 'leases', 0, 999)) do
    local key = PREFIX .. 'inflight:' .. worker
    local held = call('HLEN', key)
    if seen + held > skip then
      local fences = oldest_fences(worker)
      for i = max(1, skip - seen + 1), #fences do
        if #reply - 1 == limit or is_full() then
          reply[1] = tostring(seen + i - 1)
          return
        end
        local fence = format('%d', fences[i])
        row_of(call('HGET', key, fence), fence .. ' ' .. worker)
      end
    end
    seen = seen + held
  end
end

if state == 'r' then
  page_of_lanes()
elseif state == 'x' then
  page_of_executing()
elseif state == 's' then
  page_of_set(PREFIX .. 'scheduled', true)
elseif state == 't' then
  page_of_set(PREFIX .. 'retrying', true)
elseif state == 'c' then
  page_of_cancelled()
else
  page_of_set(PREFIX .. 'ended:' .. state, false)
end
return reply
