-- An operation can become linked while references to it exist. Such a reference differs from the record in its flags.
-- include: header
local function linked_header(element) return sub(element, 1, 1) .. '3' .. sub(element, 3) end

local function is_linked_since(record, element)
  return is_linked(record) and find(record, linked_header(header_of(element)), 1, true) == 1
end

local function is_referred_to(record, element)
  return header_of(record) == header_of(element) or is_linked_since(record, element)
end

-- Returns the position of a reference in a lane, from 0, among the first (`rank` 1) or the last (`rank` -1) `most`
-- elements; false = not found.
local function position_in_lane(lane, header, rank, most)
  local position = call('LPOS', lane, header, 'RANK', rank, 'MAXLEN', most)
  if position or not is_linked(header) then return position end
  return call('LPOS', lane, sub(header, 1, 1) .. '1' .. sub(header, 3), 'RANK', rank, 'MAXLEN', most)
end
