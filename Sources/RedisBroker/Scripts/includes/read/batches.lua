-- Lists the operations that a cancel of the whole queue has ended and that are not cleared away. The newest batch comes
-- first, and each place from its tail, because a sweep clears it away from its head. Operations that are cleared away
-- meanwhile follow in ended:c, so none is missed. The cursor is "b batch place position". The places after BATCH_PLACES
-- are the sets of the batch's unhandled names, then of its limit keys.
-- include: rows
local BATCH_PLACES = { 'lane:4', 'lane:3', 'lane:2', 'lane:1', 'lane:0', 'scheduled', 'retrying', 'blocked' }
local LETTER_OF = { scheduled = 's', retrying = 't', blocked = 'b', unhandled = 'u', keyed = 'r' }

-- Returns key and kind of a batch's place; nil = it has no more.
local function place_of(batch, place)
  local prefix, name = PREFIX .. 'batch:' .. format('%d', batch) .. ':', BATCH_PLACES[place]
  if name then return prefix .. name, name end
  local rank = place - #BATCH_PLACES - 1
  local unknown = call('ZREVRANGE', prefix .. 'unhandled', rank, rank)[1]
  if unknown then return PREFIX .. 'unhandled:' .. (call('HGET', prefix .. 'names', unknown) or ''), 'unhandled' end
  rank = rank - call('ZCARD', prefix .. 'unhandled')
  local key = call('ZREVRANGE', prefix .. 'keyed', rank, rank)[1]
  if key then return PREFIX .. 'keyed:' .. format('%d', batch - 1) .. ':' .. key, 'keyed' end
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

-- Reads a batch's place from its tail.
local function read_place(key, place, position, wanted)
  if LETTER_OF[place] then return call('ZREVRANGE', key, position, position + wanted - 1) end
  local elements, reversed = call('LRANGE', key, -position - wanted, -position - 1), {}
  for i = #elements, 1, -1 do reversed[#reversed + 1] = elements[i] end
  return reversed
end

-- The cursor 'b 0 …' is behind the last batch: the set follows.
local function page_of_batches()
  local batches = PREFIX .. 'batches'
  local first = tonumber(string.match(call('LINDEX', batches, 0) or '', '^%d+'))
  local batch, place, position = string.match(cursor, '^b (%d+) (%d+) (%d+)$')
  if not first or (cursor ~= '' and not batch) then return end
  batch, place, position = tonumber(batch or first + call('LLEN', batches) - 1), tonumber(place or 1), tonumber(position or 0)
  local looked, steps = 0, 0
  while batch >= first and rows < limit and looked + steps < 5 * limit and not is_answered() do
    local key, name = place_of(batch, place)
    local sequence_limit = tonumber(string.match(call('LINDEX', batches, batch - first), '^%d+ (%d+)'))
    local wanted = min(limit - rows, affordable(looked))
    local elements = key and read_place(key, name, position, wanted) or {}
    for i = 1, #elements do
      row_of_batch(name, elements[i], sequence_limit, format('b %d %d %d', batch, place, position + 1))
      looked, position = looked + 1, position + 1
      if is_answered() then break end
    end
    steps = steps + 1
    if #elements == 0 then place, position = place + 1, 0 end
    if not key then batch, place = batch - 1, 1 end
  end
  reply[1] = format('b %d %d %d', batch < first and 0 or batch, place, position)
end

-- Lists the batches, then in the same page the operations that were cleared away.
local function page_of_cancelled()
  page_of_batches()
  if reply[1] ~= '' and not find(reply[1], '^b 0 ') then return end
  limit = limit - rows
  if limit == 0 or is_answered() then return end
  if find(cursor, '^b') then cursor = '' end
  reply[1] = ''
  page_of_set(PREFIX .. 'ended:c', false)
end
