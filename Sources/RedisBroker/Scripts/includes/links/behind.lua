-- Unique keys. The hash `unique` says who holds each key: an id alone while that operation is in flight (waiting or executing); behind the id and a
-- space, the instant up to which its result is fresh, or "!" and the worker in which a forced cancel has left its body. What waits for its turn at a
-- key is blocked, has the field `turn` in its extras, and stands in the set `behind:KEY` by its sequence.
-- include: record
local UNIQUE = PREFIX .. 'unique'
local function behind_key(key) return PREFIX .. 'behind:' .. key end

-- Those that wait for a key, in order. What a cancel of the whole queue has ended does not count, and stays until it is cleared away.
local function behind(key, most)
  return call('ZRANGEBYSCORE', behind_key(key), format('(%d', cancelled_through()), '+inf', 'LIMIT', '0', most)
end

-- What `unique` says of a key: an id, and what is behind it.
local function read_holder(key) return string.match(call('HGET', UNIQUE, key) or '', '^(%w+) ?(.*)$') end

-- What the call has freed: the keys, and who held each.
local freed
local function note_freed(key, id, fresh_for)
  freed = freed or { keys = {}, ids = {}, fresh_for = {}, behind = {} }
  local n = #freed.keys + 1
  freed.keys[n], freed.ids[n], freed.fresh_for[n], freed.behind[n] = key, id, fresh_for or false, behind_key(key)
end
