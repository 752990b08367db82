-- The rows of a page: what the caller asks for, and what it is answered.
-- include: detail
local state, cursor, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local reply = { '' }

local function row_of(element, owner)
  if not is_reference(element) then
    reply[#reply + 1] = { element, state, owner }
    read = read + #element
    return
  end
  local row = detail(id_of(element))
  if row[2] == state and (owner ~= '' or revision_of(row[1]) == revision_of(element)) then reply[#reply + 1] = row end
end

-- Zsets: newest first; the cursor is "score id" of the last row, so that rows ending meanwhile do not shift the page.
local function page_of_set(key, ascending)
  local range = ascending and 'ZRANGEBYSCORE' or 'ZREVRANGEBYSCORE'
  local first, last = ascending and '-inf' or '+inf', ascending and '+inf' or '-inf'
  local score, skip = string.match(cursor, '^(%d+) (%d+)$')
  local entries = call(range, key, score or first, last, 'WITHSCORES', 'LIMIT', tonumber(skip or 0), limit)
  local looked = 0
  while looked < #entries and not is_full() do
    local row = detail(entries[looked + 1])
    if row[1] then reply[#reply + 1] = row end
    looked = looked + 2
  end
  if looked < 2 * limit and looked == #entries then return end
  local final, equal = entries[looked], 0
  for i = looked, 2, -2 do
    if entries[i] == final then equal = equal + 1 end
  end
  if final == score then equal = equal + tonumber(skip) end
  reply[1] = final .. ' ' .. equal
end

-- How many elements of a lane to read next, by what those had that were looked at: LRANGE brings all of them at once.
local function affordable(looked)
  if read == 0 then return 10 end
  return max(1, floor((ANSWER_BYTES - read) * looked / read))
end
