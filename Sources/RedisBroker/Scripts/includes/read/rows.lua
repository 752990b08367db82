-- The rows of a page: the request and the answer.
-- include: detail
local state, cursor, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
-- The answer: the cursor, how many rows were left out, the cursor behind each other row, and these rows. `rows` counts
-- all rows found, also those left out. A cursor is a place in an order, so a row that stays is found once, whatever
-- comes and goes; see decision 34.
local places = {}
local reply, rows = { '', 0, places }, 0

-- Most rows of an answer: each costs the server several commands.
local ROWS_OF_ANSWER = 200
local function is_answered() return #places >= ROWS_OF_ANSWER or is_full() end

local function add_row(row, place)
  reply[#reply + 1] = row
  places[#places + 1] = place
  rows = rows + 1
end

-- Counts a row that cannot match the caller's search.
local function leave_out()
  reply[2] = reply[2] + 1
  rows = rows + 1
end

-- Whether a record matches the caller's search; nil = the caller searches for nothing. Each value is a list of pieces,
-- and a record matches if it has all pieces of one value. A record with escapes or encrypted text always matches,
-- because the text may be in it.
local is_sought
if ARGV[4] then
  local values, i = {}, 4
  while ARGV[i] do
    values[#values + 1] = { unpack(ARGV, i + 1, i + ARGV[i]) }
    i = i + 1 + ARGV[i]
  end
  local function has_all(record, pieces)
    for n = 1, #pieces do
      if not find(record, pieces[n], 1, true) then return false end
    end
    return true
  end
  is_sought = function(record)
    for n = 1, #values do
      if has_all(record, values[n]) then return true end
    end
    return find(record, '\\', 1, true) or find(record, '"enc":', 1, true)
  end
end

local function row_of(element, owner, place)
  if not is_reference(element) then
    count_read(#element)
    if is_sought and not is_sought(element) then leave_out() else add_row({ element, state, owner }, place) end
    return
  end
  local row, record = detail(id_of(element), is_sought)
  if not row then
    if owner ~= '' or revision_of(record) == revision_of(element) then leave_out() end
  elseif row[2] == state and (owner ~= '' or revision_of(row[1]) == revision_of(element)) then
    add_row(row, place)
  end
end

-- Counts the members of a set before the member with this score and id, which may be gone. `through` counts that member
-- as well.
local function count_before(key, score, id, through)
  local low, high = call('ZCOUNT', key, '-inf', '(' .. score), call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = floor((low + high) / 2)
    local other = call('ZRANGE', key, middle, middle)[1]
    if other < id or (through and other == id) then low = middle + 1 else high = middle end
  end
  return low
end

-- Returns the next members behind "score id", each with its score.
local function entries_behind(key, ascending, score, id, most)
  if ascending then
    local first = score and count_before(key, score, id, true) or 0
    return call('ZRANGE', key, first, first + most - 1, 'WITHSCORES')
  end
  local first = score and call('ZCARD', key) - count_before(key, score, id, false) or 0
  return call('ZREVRANGE', key, first, first + most - 1, 'WITHSCORES')
end

-- A page of a sorted set behind a row: newest first, or the next due first. The cursor is "score id" of the last row.
local function page_of_set(key, ascending, behind, most)
  local score, id = string.match(behind, '^(%d+) (%w+)$')
  local entries = entries_behind(key, ascending, score, id, most)
  local looked = 0
  while looked < #entries and not is_answered() do
    local row = detail(entries[looked + 1], is_sought)
    local place = entries[looked + 2] .. ' ' .. entries[looked + 1]
    if not row then leave_out() elseif row[1] then add_row(row, place) end
    looked = looked + 2
  end
  if looked < 2 * most and looked == #entries then return end
  reply[1] = entries[looked] .. ' ' .. entries[looked - 1]
end

-- Returns how many elements of a lane to read next, judged by the size of the previous ones, because LRANGE returns all
-- at once.
local function affordable(looked)
  if read == 0 then return 10 end
  return max(1, floor((ANSWER_BYTES - read) * looked / read))
end
