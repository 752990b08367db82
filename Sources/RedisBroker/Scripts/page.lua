-- One page of a state's place.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  letter of the state  ARGV[2] cursor, '' = the beginning  ARGV[3] rows, at most 500; fewer where 200 are answered, or they have 4 MiB
-- ARGV[4…] values to look for: for each the number of its pieces, and these. A row whose record has all pieces of none of them is left out
-- Output   cursor of the next page ('' = none), how many rows were left out, then for each other row: a detail (see details.lua), or for an untracked operation
--          element, state, owner
-- Events   none (reads only)
-- include: base
-- include: rows
-- include: fences
-- include: batches
-- include: limit_key_names
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
      'LIMIT', 0, limit + 1 - rows)
    for n = 1, #entries, 2 do
      if rows == limit or is_answered() then return end
      local row = detail(entries[n], is_sought)
      if not row then leave_out() elseif row[2] == state then add_row(row) end
      reply[1] = 'u ' .. format('%d', numbers[i]) .. ' (' .. entries[n + 1]
    end
    if rows == limit then return end
  end
  reply[1] = ''
end

-- What waits in no lane because of its limit key: the keys with most ready ones first, each in its order; the cursor is "k rank position".
local function page_of_keys(rank, position)
  local steps = 0
  while rows < limit and steps < limit and not is_answered() do
    local key = call('ZREVRANGE', PREFIX .. 'keyed', format('%d', rank), format('%d', rank))[1]
    if not key then return page_of_unhandled(0, '-inf') end
    local ids = call('ZRANGE', waiting_of_key(key), format('%d', position), format('%d', position + limit - rows - 1))
    for i = 1, #ids do
      if is_answered() then break end
      local row = detail(ids[i], is_sought)
      if not row then leave_out() elseif row[2] == state then add_row(row) end
      position = position + 1
    end
    steps = steps + 1
    if #ids == 0 then rank, position = rank + 1, 0 end
  end
  reply[1] = format('k %d %d', rank, position)
end

-- Lanes: the highest priority first, next to run first; the cursor is "lane position". Behind them come those that
-- wait in no lane.
local function page_of_lanes()
  local lane, position = string.match(cursor, '^(%d) (%d+)$')
  local number, score = string.match(cursor, '^u (%d+) (%S+)$')
  if number then return page_of_unhandled(tonumber(number), score) end
  local rank, place = string.match(cursor, '^k (%d+) (%d+)$')
  if rank then return page_of_keys(tonumber(rank), tonumber(place)) end
  lane, position = tonumber(lane or 4), tonumber(position or 0)
  local looked, steps = 0, 0
  while lane >= 0 and rows < limit and looked + steps < 5 * limit and not is_answered() do
    local wanted = min(limit - rows, affordable(looked))
    local elements = call('LRANGE', PREFIX .. 'lane:' .. lane, position, position + wanted - 1)
    for i = 1, #elements do
      row_of(elements[i], '')
      looked, position = looked + 1, position + 1
      if is_answered() then break end
    end
    steps = steps + 1
    if #elements == 0 then lane, position = lane - 1, 0 end
  end
  if lane >= 0 then reply[1] = lane .. ' ' .. position else page_of_keys(0, 0) end
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
        if rows == limit or is_answered() then
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
elseif state == 'b' then
  page_of_set(PREFIX .. 'blocked', false)
elseif state == 'c' then
  page_of_cancelled()
else
  page_of_set(PREFIX .. 'ended:' .. state, false)
end
return reply
