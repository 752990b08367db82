-- Reads one page of the operations in a state.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  letter of the state  ARGV[2] cursor, '' = the beginning  ARGV[3] rows, at most 500; fewer once the answer
--          has 200, or 4 MiB
-- ARGV[4…] values to search for: for each the number of its pieces, and these. A row is left out unless its record has
--          all pieces of one of them
-- Output   cursor of the next page ('' = none), how many rows were left out, the cursor behind each other row, then
--          each of these rows: a detail (see details.lua), or for an untracked operation element, state, owner
-- Events   none (reads only)
-- include: base
-- include: rows
-- include: fences
-- include: batches
-- include: limit_key_names
-- Lists unhandled operations by the numbers of their sets, then as they wait. The cursor is "u number score id" of the
-- last row.
local function page_of_unhandled(number, score, id)
  local numbers = {}
  for _, field in ipairs(call('HKEYS', PREFIX .. 'unhandled:names')) do
    local other = tonumber(string.match(field, '^#(%d+)'))
    if other and other >= number then numbers[#numbers + 1] = other end
  end
  table.sort(numbers)
  local place = score and format('u %d %s %s', number, score, id) or 'u'
  for i = 1, #numbers do
    if numbers[i] ~= number then score = nil end
    local entries = entries_behind(PREFIX .. 'unhandled:' .. format('%d', numbers[i]), true, score, id, limit + 1 - rows)
    for n = 1, #entries, 2 do
      if rows == limit or is_answered() then
        reply[1] = place
        return
      end
      local row = detail(entries[n], is_sought)
      place = format('u %d %s %s', numbers[i], entries[n + 1], entries[n])
      if not row then leave_out() elseif row[2] == state then add_row(row, place) end
    end
    if rows == limit then
      reply[1] = place
      return
    end
  end
  reply[1] = ''
end

-- Returns the next ready operations of a limit key behind "score id", in its order, each with its score. They keep
-- their scores as they move from one of the sets to the other.
local function ready_of_key(key, score, id, most)
  local waiting, standing = entries_behind(waiting_of_key(key), true, score, id, most), entries_behind(next_of_key(key), true, score, id, most)
  local entries, w, s = {}, 1, 1
  while #entries < 2 * most and (waiting[w] or standing[s]) do
    local is_waiting = not standing[s]
    if waiting[w] and standing[s] then
      local one, other = tonumber(waiting[w + 1]), tonumber(standing[s + 1])
      is_waiting = one < other or (one == other and waiting[w] < standing[s])
    end
    if is_waiting then
      entries[#entries + 1], entries[#entries + 2], w = waiting[w], waiting[w + 1], w + 2
    else
      entries[#entries + 1], entries[#entries + 2], s = standing[s], standing[s + 1], s + 2
    end
  end
  return entries
end

-- Lists ready operations with limit keys, also those that stand in lanes: keys by name, each in its order. The cursor
-- is "k :key score id" of the last row, or "k :key" behind all rows of that key.
local function page_of_keys(last_key, score, id)
  local steps, key = 0, score and last_key
  while rows < limit and steps < limit and not is_answered() do
    if not key then
      local after = last_key and '(' .. last_key or '-'
      key = call('ZRANGEBYLEX', PREFIX .. 'keyNames', after, '+', 'LIMIT', '0', '1')[1]
    end
    if not key then return page_of_unhandled(0) end
    local entries = ready_of_key(key, score, id, limit - rows)
    for i = 1, #entries, 2 do
      if is_answered() then break end
      id, score = entries[i], entries[i + 1]
      local row = detail(id, is_sought)
      if not row then leave_out() elseif row[2] == state then add_row(row, format('k :%s %s %s', key, score, id)) end
    end
    steps, last_key = steps + 1, key
    if #entries == 0 then key, score = nil, nil end
  end
  reply[1] = 'k :' .. last_key .. (score and ' ' .. score .. ' ' .. id or '')
end

-- Returns the position behind the element with this id in a lane. A claim removes elements at the head, and operations
-- that are given back enter there, so the element has moved a little. The search goes from its old position to the
-- head. nil and a position: the element may stand before that, and the next page goes on searching. If the element is
-- gone, so are all elements that stood before it.
local SEARCHED = 5000
local ELEMENT_GUESS = 16384
local SEARCHED_BYTES = 1048576
local STEP = 250
local function position_behind(lane, position, id)
  local last, looked, bytes = position + STEP, 0, 0
  -- Large elements are read a few at a time. Each search gets past the position where it began, so it comes to an end.
  while last > 0 and (last >= position or (looked < SEARCHED and bytes < SEARCHED_BYTES)) do
    local average = looked > 0 and bytes / looked or ELEMENT_GUESS
    local first = max(0, last - max(1, min(STEP, floor(SEARCHED_BYTES / 4 / average))))
    local elements = call('LRANGE', lane, format('%d', first), format('%d', last - 1))
    for i = #elements, 1, -1 do
      if id_of(elements[i]) == id then return first + i end
      bytes = bytes + #elements[i]
    end
    last, looked = first, looked + #elements
  end
  if last == 0 then return 0 end
  return nil, last
end

-- Lists lanes: the highest priority first, next to run first. The cursor is "lane position id" of the last row, or
-- "lane position". Operations with limit keys follow: they move between lanes and the sets of their keys.
local function page_of_lane_places(lane, position, id)
  -- A client may send any cursor.
  if id then position = min(position, call('LLEN', PREFIX .. 'lane:' .. lane)) end
  if id and id_of(call('LINDEX', PREFIX .. 'lane:' .. lane, format('%d', position - 1)) or '') ~= id then
    local found, searched = position_behind(PREFIX .. 'lane:' .. lane, position, id)
    if not found then
      reply[1] = lane .. ' ' .. format('%d', searched) .. ' ' .. id
      return
    end
    position = found
  end
  -- Only elements whose bytes count tell how large the next ones may be.
  local looked, counted, steps = 0, 0, 0
  while lane >= 0 and rows < limit and looked + steps < 5 * limit and not is_answered() do
    local wanted = min(limit - rows, affordable(counted))
    local elements = call('LRANGE', PREFIX .. 'lane:' .. lane, position, position + wanted - 1)
    for i = 1, #elements do
      looked, position, id = looked + 1, position + 1, id_of(elements[i])
      if not has_limit_key(elements[i]) then
        counted = counted + 1
        row_of(elements[i], '', lane .. ' ' .. position .. ' ' .. id)
      end
      if is_answered() then break end
    end
    steps = steps + 1
    if #elements == 0 then lane, position, id = lane - 1, 0, nil end
  end
  if lane >= 0 then reply[1] = lane .. ' ' .. position .. (id and ' ' .. id or '') else page_of_keys() end
end

local function page_of_lanes()
  local number, score, id = string.match(cursor, '^u (%d+) (%d+) (%w+)$')
  if number or cursor == 'u' then return page_of_unhandled(tonumber(number or 0), score, id) end
  local key, rest = string.match(cursor, '^k :(%S+)(.*)$')
  if key then return page_of_keys(key, string.match(rest, '^ (%d+) (%w+)$')) end
  local lane, position, last = string.match(cursor, '^(%d) (%d+) ?(%w*)$')
  page_of_lane_places(tonumber(lane or 4), tonumber(position or 0), last ~= '' and last or nil)
end

-- Lists executing operations: worker by worker, each in the order of fences. The cursor is "worker fence" of the last
-- row. The order of leases changes all the time, so workers are sorted by name.
local function page_of_executing()
  local last_worker, last_fence = string.match(cursor, '^(%S+) (%d+)$')
  local workers, place = call('ZRANGE', PREFIX .. 'leases', 0, 999), ''
  table.sort(workers)
  for _, worker in ipairs(workers) do
    local fences = (not last_worker or worker >= last_worker) and oldest_fences(worker) or {}
    for i = 1, #fences do
      local fence = format('%d', fences[i])
      if worker ~= last_worker or fences[i] > tonumber(last_fence) then
        if rows == limit or is_answered() then
          reply[1] = place
          return
        end
        place = worker .. ' ' .. fence
        row_of(call('HGET', PREFIX .. 'inflight:' .. worker, fence), fence .. ' ' .. worker, place)
      end
    end
  end
end

if state == 'r' then
  page_of_lanes()
elseif state == 'x' then
  page_of_executing()
elseif state == 's' then
  page_of_set(PREFIX .. 'scheduled', true, cursor, limit)
elseif state == 't' then
  page_of_set(PREFIX .. 'retrying', true, cursor, limit)
elseif state == 'b' then
  page_of_set(PREFIX .. 'blocked', false, cursor, limit)
elseif state == 'c' then
  page_of_cancelled()
else
  page_of_set(PREFIX .. 'ended:' .. state, false, cursor, limit)
end
return reply
