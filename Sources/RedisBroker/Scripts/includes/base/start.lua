-- in the base
-- What every script begins with, also one that ends on a short way. KEYS[1] is always the queue's key "{namespace/queue}:meta"; all
-- other keys of the queue share its hash tag and are built here from the same prefix, so a script touches one slot.
local call = redis.call
-- For PUBLISH: a message is a hint, so a user who may not send it has done the rest all the same.
local pcall = redis.pcall
local META = KEYS[1]
local PREFIX = string.sub(META, 1, -5)
local TOTALS = PREFIX .. 'totals'
-- What the queue's channels begin with. Redis has one set of channels for all its databases, and a script cannot ask which database it
-- works in: the caller says it with KEYS[2], which is no key of the queue. Without it, that is database 0.
local CHANNELS = KEYS[2] or PREFIX .. 'db0:'
local sub, byte, format, floor, min, max = string.sub, string.byte, string.format, math.floor, math.min, math.max
local char, find, concat = string.char, string.find, table.concat
-- include: clock

local ZERO9 = '000000000'
-- What stands in the record of an operation that never ran, between its state and when it was enqueued.
local NEVER_RAN = '000000000000000000000000000000000'
local DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

-- Milliseconds as nine digits of base 36, the form of every time in a header or record. Every script does it, so it goes without a
-- loop and without a table: a table costs more than the nine steps.
local function time36(ms)
  local i = ms % 36
  ms = (ms - i) / 36
  local h = ms % 36
  ms = (ms - h) / 36
  local g = ms % 36
  ms = (ms - g) / 36
  local f = ms % 36
  ms = (ms - f) / 36
  local e = ms % 36
  ms = (ms - e) / 36
  local d = ms % 36
  ms = (ms - d) / 36
  local c = ms % 36
  ms = (ms - c) / 36
  local b = ms % 36
  local a = (ms - b) / 36 % 36
  return char(a < 10 and a + 48 or a + 87, b < 10 and b + 48 or b + 87, c < 10 and c + 48 or c + 87,
    d < 10 and d + 48 or d + 87, e < 10 and e + 48 or e + 87, f < 10 and f + 48 or f + 87,
    g < 10 and g + 48 or g + 87, h < 10 and h + 48 or h + 87, i < 10 and i + 48 or i + 87)
end
local NOW36 = time36(now)
