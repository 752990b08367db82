-- in the base
-- Every script begins with this file, even if it ends on a fast path. KEYS[1] is always the queue's key
-- "{namespace/queue}:meta". All other keys of the queue share its hash tag and are made here from the same prefix, so a
-- script touches one slot.
local call = redis.call
-- For PUBLISH: a message is only a hint, so the call succeeds even if the Redis user may not publish.
local pcall = redis.pcall
local META = KEYS[1]
local PREFIX = string.sub(META, 1, -5)
local TOTALS = PREFIX .. 'totals'
-- The prefix of the queue's channels. Redis shares channels between all its databases, and a script cannot ask for its
-- database. The caller passes the prefix as KEYS[2], which is not a key of the queue. Without KEYS[2] the database is
-- 0.
local CHANNELS = KEYS[2] or PREFIX .. 'db0:'
local sub, byte, format, floor, min, max = string.sub, string.byte, string.format, math.floor, math.min, math.max
local char, find, concat = string.char, string.find, table.concat
-- include: clock

local ZERO9 = '000000000'
-- The fields between the state and the enqueue time, in the record of an operation that never ran.
local NEVER_RAN = '000000000000000000000000000000000'
local DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

-- Converts milliseconds to nine digits of base 36, the form of every time in a header or record. Every script does
-- this, so the code has no loop and no table: a table costs more than the nine steps.
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
