-- Unique keys. The hash `unique` says who holds each key: an id alone while that operation is in flight (waiting or executing); behind the id and a
-- space, the instant up to which its result is fresh, or "!" and the worker in which a forced cancel has left its body. What waits for its turn at a
-- key is blocked, has the field `turn` in its extras, and stands in the set `behind:KEY` by its sequence.
-- include: leave_turn
local UNIQUE = PREFIX .. 'unique'
local function behind_key(key) return PREFIX .. 'behind:' .. key end

-- Those that wait for a key, in order. What a cancel of the whole queue has ended does not count, and stays until it is cleared away.
local function behind(key, most)
  local ended = call('HGET', META, 'cancelledSequence') or '0'
  return call('ZRANGEBYSCORE', behind_key(key), '(' .. ended, '+inf', 'LIMIT', '0', most)
end

-- What `unique` says of a key: an id, and what is behind it.
local function read_holder(key) return string.match(call('HGET', UNIQUE, key) or '', '^(%w+) ?(.*)$') end

-- The result of what held the key may be fresh for a time.
local function keep_result(key, id)
  local fresh_for = call('HGET', extras_key(id), 'freshFor')
  local head = fresh_for and head_of(id)
  if not head or stored_state_of(head) ~= 'f' then
    call('HDEL', UNIQUE, key)
    return
  end
  local last = format('%d', ended_at_of(head) + tonumber(fresh_for))
  call('HSET', UNIQUE, key, id .. ' ' .. last)
  call('ZADD', PREFIX .. 'fresh', last, key)
end

-- At most this many a call whose time is over.
local FRESH_FORGOTTEN_AT_ONCE = 4
local function forget_results()
  local keys = call('ZRANGEBYSCORE', PREFIX .. 'fresh', '-inf', NOW, 'LIMIT', '0', format('%d', FRESH_FORGOTTEN_AT_ONCE))
  for i = 1, #keys do
    local _, last = read_holder(keys[i])
    if tonumber(last) and tonumber(last) <= now then call('HDEL', UNIQUE, keys[i]) end
    call('ZREM', PREFIX .. 'fresh', keys[i])
  end
end

-- What the call has freed goes on at its end: key, who held it, key, … Who took one meanwhile keeps it.
local freed
local function pass_keys()
  for i = 1, #freed, 2 do
    local key, id = freed[i], freed[i + 1]
    if call('HGET', UNIQUE, key) == id then
      local following = behind(key, '1')[1]
      if following then
        call('HSET', UNIQUE, key, following)
        call('ZREM', behind_key(key), following)
        leave_turn(following)
      else
        keep_result(key, id)
      end
    end
  end
  freed = nil
  forget_results()
end

local function free_key(key, id)
  if not freed then
    freed = {}
    at_end[#at_end + 1] = pass_keys
  end
  freed[#freed + 1], freed[#freed + 2] = key, id
end
