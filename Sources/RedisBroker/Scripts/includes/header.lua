-- What a producer may send: 64 bytes of header, with durations and without a sequence, then an envelope that begins with a
-- character that no id has.
local NO_TIMES, NO_SEQUENCE = ZERO9 .. ZERO9, '00000000000'
local find = string.find
local function has_valid_header(element)
  local _, last = find(element, '^[0-7][0-9A-HJKMNP-TV-Z]+', 39)
  return last == 64 and find(element, '^1[01][0-4][0-9a-z]%d%d%d%d%d')
    and (sub(element, 10, 27) == NO_TIMES or not find(sub(element, 10, 27), '[^0-9a-z]'))
    and (sub(element, 28, 38) == NO_SEQUENCE or not find(sub(element, 28, 38), '[^0-9a-f]'))
end
