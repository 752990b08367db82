-- Unique keys go to the next ones.
-- include: behind
-- include: leave_blocked

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

-- What the call has freed goes on. Who took one meanwhile keeps it.
local function pass_keys()
  if not freed then return end
  for i = 1, #freed, 2 do
    local key, id = freed[i], freed[i + 1]
    if call('HGET', UNIQUE, key) == id then
      local following = behind(key, '1')[1]
      if following then
        call('HSET', UNIQUE, key, following)
        call('ZREM', behind_key(key), following)
        call('HDEL', extras_key(following), 'turn')
        leave_blocked(following)
      else
        keep_result(key, id)
      end
    end
  end
  freed = nil
  forget_results()
end
