-- Lists the operations that a cancel of the whole queue has ended and that are not cleared away. The newest batch comes
-- first, and each place from its tail, because a sweep clears it away from its head. Operations that are cleared away
-- meanwhile follow in ended:c, so none is missed. The cursor is "b batch place position score id" of the last row, or
-- without score and id behind all rows of that place. A position counts from the tail: elements of a lane, and names
-- and limit keys, which have a set each. Nothing enters a batch, so such a position stays.
-- include: rows
local BATCH_PLACES = { 'lane:4', 'lane:3', 'lane:2', 'lane:1', 'lane:0', 'scheduled', 'retrying', 'blocked', 'unhandled', 'keyed' }
local LETTER_OF = { scheduled = 's', retrying = 't', blocked = 'b', unhandled = 'u', keyed = 'r' }
local HAS_SETS = { unhandled = true, keyed = true }

-- Returns the key of a batch's place, for a place with sets that of the set at this position; nil = it has no more.
local function key_in_batch(batch, place, position)
  local prefix = PREFIX .. 'batch:' .. format('%d', batch) .. ':'
  if not HAS_SETS[place] then return prefix .. place end
  local name = call('ZREVRANGE', prefix .. place, format('%d', position), format('%d', position))[1]
  if not name then return nil end
  if place == 'keyed' then return PREFIX .. 'keyed:' .. format('%d', batch - 1) .. ':' .. name end
  return PREFIX .. 'unhandled:' .. (call('HGET', prefix .. 'names', name) or '')
end

-- Adds the row of an operation whose element counts. A stale element is skipped.
local function row_of_batch(place, element, sequence_limit, behind)
  if not LETTER_OF[place] and not is_reference(element) then return row_of(element, '', behind) end
  local head = head_of(LETTER_OF[place] and element or id_of(element))
  if not head or stored_state_of(head) ~= (LETTER_OF[place] or 'r') then return end
  local counts
  if LETTER_OF[place] then
    counts = sequence_of(head) <= sequence_limit
  else
    counts = revision_of(head) == revision_of(element) and sequence_of(head) == sequence_of(element)
  end
  if not counts then return end
  local row = detail(id_of(head), is_sought)
  if row then add_row(row, behind) else leave_out() end
end

-- Reads a lane of a batch from its tail.
local function read_lane(key, position, wanted)
  local elements, reversed = call('LRANGE', key, format('%d', -position - wanted), format('%d', -position - 1)), {}
  for i = #elements, 1, -1 do reversed[#reversed + 1] = elements[i] end
  return reversed
end

-- The cursor 'b 0 …' is behind the last batch: the set follows.
local function page_of_batches()
  local batches = PREFIX .. 'batches'
  local first = tonumber(string.match(call('LINDEX', batches, 0) or '', '^%d+'))
  local batch, place, position, rest = string.match(cursor, '^b (%d+) (%d+) (%d+)(.*)$')
  if not first or (cursor ~= '' and not batch) then return end
  local score, id = string.match(rest or '', '^ (%d+) (%w+)$')
  local newest = first + call('LLEN', batches) - 1
  batch, place, position = tonumber(batch or newest), tonumber(place or 1), tonumber(position or 0)
  -- A client may send any cursor.
  if batch > newest then batch, place, position, score = newest, 1, 0, nil end
  local looked, steps = 0, 0

  local function cursor_here()
    return format('b %d %d %d', batch < first and 0 or batch, place, position) .. (score and ' ' .. score .. ' ' .. id or '')
  end

  -- Returns whether the place has no more rows.
  local function read_part(name, sequence_limit)
    local key, wanted = key_in_batch(batch, name, position), min(limit - rows, affordable(looked))
    if not key then return true end
    local is_lane = not LETTER_OF[name]
    local elements = is_lane and read_lane(key, position, wanted) or entries_behind(key, false, score, id, wanted)
    for i = 1, #elements, is_lane and 1 or 2 do
      if is_lane then position = position + 1 else id, score = elements[i], elements[i + 1] end
      row_of_batch(name, elements[i], sequence_limit, cursor_here())
      looked = looked + 1
      if is_answered() then break end
    end
    if #elements > 0 then return false end
    score = nil
    if HAS_SETS[name] then position = position + 1 end
    return not HAS_SETS[name]
  end

  while batch >= first and rows < limit and looked + steps < 5 * limit and not is_answered() do
    local sequence_limit = tonumber(string.match(call('LINDEX', batches, batch - first), '^%d+ (%d+)'))
    steps = steps + 1
    if not BATCH_PLACES[place] then
      batch, place, position, score = batch - 1, 1, 0, nil
    elseif read_part(BATCH_PLACES[place], sequence_limit) then
      place, position, score = place + 1, 0, nil
    end
  end
  reply[1] = cursor_here()
end

-- Lists the batches, then in the same page the operations that were cleared away.
local function page_of_cancelled()
  page_of_batches()
  if reply[1] ~= '' and not find(reply[1], '^b 0 ') then return end
  local left = limit - rows
  if left == 0 or is_answered() then return end
  reply[1] = ''
  page_of_set(PREFIX .. 'ended:c', false, find(cursor, '^b') and '' or cursor, left)
end
