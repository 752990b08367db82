-- An operation becomes linked while references to it exist: these differ from its record in their flags.
-- include: header
local function linked_header(element) return sub(element, 1, 1) .. '3' .. sub(element, 3) end

local function is_linked_since(record, element)
  return is_linked(record) and find(record, linked_header(header_of(element)), 1, true) == 1
end

local function is_referred_to(record, element)
  return header_of(record) == header_of(element) or is_linked_since(record, element)
end
