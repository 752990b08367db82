-- Unique keys. The hash `unique` says who holds each key: an id alone while that operation is in flight (waiting or executing); behind the id and a
-- space, the instant up to which its result is fresh, or "!" and the worker in which a forced cancel has left its body. What waits for its turn at a
-- key is blocked, has the field `turn` in its extras, and stands in the set `behind:KEY` by its sequence.
-- include: record
local UNIQUE = PREFIX .. 'unique'
local function behind_key(key) return PREFIX .. 'behind:' .. key end

-- Those that wait for a key, in order. What a cancel of the whole queue has ended does not count, and stays until it is cleared away.
local function behind(key, most)
  local ended = call('HGET', META, 'cancelledSequence') or '0'
  return call('ZRANGEBYSCORE', behind_key(key), '(' .. ended, '+inf', 'LIMIT', '0', most)
end

-- What `unique` says of a key: an id, and what is behind it.
local function read_holder(key) return string.match(call('HGET', UNIQUE, key) or '', '^(%w+) ?(.*)$') end

-- What the call has freed: key, who held it, key, …
local freed
local function note_freed(key, id)
  freed = freed or {}
  freed[#freed + 1], freed[#freed + 2] = key, id
end
