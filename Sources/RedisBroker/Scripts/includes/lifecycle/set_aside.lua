-- An operation whose name its worker does not handle enters the set of that name: see unhandled.lua.
-- include: write_record
-- include: events
-- include: limits

-- Returns the number of a name's set. A new name is announced to all workers of the queue: one of them may handle it.
-- nil = UNHANDLED_NAMES_KEPT other names have sets.
local function set_of(name)
  local counts, names = PREFIX .. 'unhandled', PREFIX .. 'unhandled:names'
  local number = call('HGET', names, name)
  if number then return number end
  if call('ZCARD', counts) >= UNHANDLED_NAMES_KEPT then return nil end
  number = format('%d', call('HINCRBY', META, 'unhandled', 1))
  call('HSET', names, name, number, '#' .. number, name)
  pcall('PUBLISH', CHANNELS .. 'control', 'unhandled ' .. number .. ' ' .. name)
  return number
end

-- Undoes the start of an operation that has left its worker and has a record. Returns false if too many names have
-- sets.
local function enter_unhandled(id, head, name)
  local number = set_of(name)
  if not number then return false end
  write_head(record_key(id), 'u' .. ZERO9 .. time36(tonumber(number)))
  call('ZADD', PREFIX .. 'unhandled:' .. number, place_score(head), id)
  call('ZINCRBY', PREFIX .. 'unhandled', 1, name)
  add('unhandled', 1)
  add('started', -1)
  event(id, 'r', true)
  return true
end
