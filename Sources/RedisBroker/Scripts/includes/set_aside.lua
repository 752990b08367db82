-- Sets operations aside whose name their worker does not know: see unhandled.lua.
local UNHANDLED, UNHANDLED_NAMES = PREFIX .. 'unhandled', PREFIX .. 'unhandled:names'
-- As many numbers of the sequence as their eleven digits can say.
local SEQUENCES = 17592186044416

-- The number of a name's set. A new one is announced to all workers of the queue: one of them may know the name. nil = there are
-- UNHANDLED_NAMES_KEPT others.
local function set_of(name)
  local number = call('HGET', UNHANDLED_NAMES, name)
  if number then return number end
  if call('ZCARD', UNHANDLED) >= UNHANDLED_NAMES_KEPT then return nil end
  number = format('%d', call('HINCRBY', META, 'unhandled', 1))
  call('HSET', UNHANDLED_NAMES, name, number, '#' .. number, name)
  pcall('PUBLISH', CHANNELS .. 'control', 'unhandled ' .. number .. ' ' .. name)
  return number
end

-- Undoes the start of a released operation that has a record, and puts it into the set of its name. False = there are too many names.
local function set_aside(id, head, name)
  local number = set_of(name)
  if not number then return false end
  call('SETRANGE', record_key(id), 64, 'u' .. ZERO9 .. time36(tonumber(number)))
  call('ZADD', PREFIX .. 'unhandled:' .. number, format('%.0f', (4 - tonumber(sub(head, 3, 3))) * SEQUENCES + tonumber(sub(head, 28, 38), 16)), id)
  call('ZINCRBY', UNHANDLED, 1, name)
  add('unhandled', 1)
  add('started', -1)
  event(id, 'r', true)
  return true
end
