-- Passes unique keys to the next operations.
-- include: behind
-- include: leave_blocked

-- Keeps the fresh result of a key's last holder. Returns whether it is fresh for a time.
local function keep_result(key, id, fresh_for)
  local head = fresh_for and head_of(id)
  if not head or stored_state_of(head) ~= 'f' then return false end
  local last = format('%d', ended_at_of(head) + tonumber(fresh_for))
  call('HSET', UNIQUE, key, id .. ' ' .. last)
  call('ZADD', PREFIX .. 'fresh', last, key)
  return true
end

-- A call forgets at most this many results whose time is over.
local FRESH_FORGOTTEN_AT_ONCE = 4
local function forget_results()
  local keys = call('ZRANGEBYSCORE', PREFIX .. 'fresh', '-inf', NOW, 'LIMIT', '0', format('%d', FRESH_FORGOTTEN_AT_ONCE))
  for i = 1, #keys do
    local _, last = read_holder(keys[i])
    if tonumber(last) and tonumber(last) <= now then call('HDEL', UNIQUE, keys[i]) end
    call('ZREM', PREFIX .. 'fresh', keys[i])
  end
end

local function give_next(key)
  local following = behind(key, '1')[1]
  if not following then return false end
  -- The record is gone, by an eviction or by hand.
  if not head_of(following) then
    call('ZREM', behind_key(key), following)
    return give_next(key)
  end
  call('HSET', UNIQUE, key, following)
  call('ZREM', behind_key(key), following)
  call('HDEL', extras_key(following), 'turn')
  leave_blocked(following)
  return true
end

-- Passes on the keys that this call has freed. An operation that took one meanwhile keeps it. Mostly no operation waits
-- for any of them.
local function pass_keys()
  if not freed then return end
  local list, passed, free = take_freed(), {}, {}
  local holders = call('HMGET', UNIQUE, unpack(list.keys))
  local are_awaited = call('EXISTS', unpack(list.behind)) > 0
  for i = 1, #list.keys do
    local key, id = list.keys[i], list.ids[i]
    if holders[i] == id and not passed[key] then
      passed[key] = true
      local is_taken = (are_awaited and give_next(key)) or keep_result(key, id, list.fresh_for[i])
      if not is_taken then free[#free + 1] = key end
    end
  end
  if #free > 0 then call('HDEL', UNIQUE, unpack(free)) end
  forget_results()
end
