-- Unique keys. The hash `unique` has the holder of each key. An id alone: that operation is in flight (waiting or
-- executing). An id, a space and an instant: its result is fresh up to then. An id, a space, "!" and a worker: a forced
-- cancel has left its body in that worker. An operation that waits for its turn at a key is blocked, has the field
-- `turn` in its extras, and stands in the set `behind:KEY` by its sequence.
-- include: record
local UNIQUE = PREFIX .. 'unique'
local function behind_key(key) return PREFIX .. 'behind:' .. key end

-- Returns the operations that wait for a key, in order. Operations that a cancel of the whole queue has ended do not
-- count, and stay until they are cleared away.
local function behind(key, most)
  return call('ZRANGEBYSCORE', behind_key(key), format('(%d', cancelled_through()), '+inf', 'LIMIT', '0', most)
end

-- Returns the holder of a key: an id, and the text behind it.
local function read_holder(key) return string.match(call('HGET', UNIQUE, key) or '', '^(%w+) ?(.*)$') end

-- The keys that this call has freed, and the operation that held each.
local freed
local function note_freed(key, id, fresh_for)
  freed = freed or { keys = {}, ids = {}, fresh_for = {}, behind = {} }
  local n = #freed.keys + 1
  freed.keys[n], freed.ids[n], freed.fresh_for[n], freed.behind[n] = key, id, fresh_for or false, behind_key(key)
end

-- Returns the keys that were freed since the last call.
local function take_freed()
  local list = freed
  freed = nil
  return list
end
