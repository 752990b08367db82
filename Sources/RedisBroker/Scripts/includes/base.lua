-- What every script begins with. KEYS[1] is always the queue's key "{namespace/queue}:meta"; all other keys of the queue
-- share its hash tag and are built here from the same prefix, so a script touches one slot.
local call = redis.call
local META = KEYS[1]
local PREFIX = string.sub(META, 1, -5)
local TOTALS = PREFIX .. 'totals'
local sub, byte, format, floor, min, max = string.sub, string.byte, string.format, math.floor, math.min, math.max
local concat = table.concat
-- include: clock

local ZERO9 = '000000000'
local DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

-- Milliseconds as nine digits of base 36, the form of every time in a header or record. The table is made as long as it gets:
-- filled from its end it would otherwise be rebuilt four times.
local function time36(ms)
  local digits = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }
  for i = 9, 1, -1 do
    local digit = ms % 36
    digits[i] = digit < 10 and digit + 48 or digit + 87
    ms = (ms - digit) / 36
  end
  return string.char(unpack(digits))
end
local NOW36 = time36(now)
-- Redis writes a Lua number with 17 digits of a double, slowly; text is taken as it is.
local NOW = format('%d', now)

-- Changes of the totals, written once at the end by flush().
local added = {}
local function add(field, n)
  added[field] = (added[field] or 0) + n
end
-- end of the base
