-- in the base
-- Limit keys. They limit how many operations of a key run at once, and give all keys fair shares. The field `limitKey`
-- in the extras of an operation has its key.
-- A ready operation waits in `keyed:N:KEY`, by lane and then by enqueue order, until it is one of the next of its key.
-- The next ones stand in the lanes, and in `next:N:KEY`: at most as many as the key's weight, and as its concurrency
-- leaves. An operation that leaves its lane makes way for another one of its key, behind the operations of other keys.
-- `running:KEY` has the running ones. N is the number of cancels of the whole queue, so after a cancel keys start
-- afresh. The set `keyed` says how many operations of each key are ready; `keyNames` has the same keys by name, for
-- walks. The total `keyed` counts ready operations that stand in no lane.
-- With a rate, each operation that starts uses one start of the key's bucket in `keyBuckets`. No more operations of a
-- key stand in lanes than its bucket has starts. A key without a start is parked until the next start is back: as *KEY
-- in `expiring`, where a claim finds the instant.
-- Only calls with such operations need these functions, so one function makes them, and not each run of the script.
-- include: write_record
-- include: rate
-- include: wake
local limit_keys
local function limits_of_keys()
  if limit_keys then return limit_keys end
  local generation = call('HGET', META, 'batch') or '0'
  local key_by_id, limits, touched, is_touched, best, has_moved, is_at_end = {}, {}, {}, {}, {}, false, false
  local has_used, wakes_at
  -- Searches for missing records are rare, and bounded in each call.
  local SEARCHES, MISSING_AT_ONCE = 1000, 100
  local searches_left, missing_left = SEARCHES, MISSING_AT_ONCE
  local BUCKETS, LIMITS_OF_KEY = PREFIX .. 'keyBuckets', '^(%S+) (%S+) ?(.*)$'
  -- Deletes as many buckets at once as a call can add.
  local FORGOTTEN_AT_ONCE = '100'
  limit_keys = {}

  local function waiting_set(key) return PREFIX .. 'keyed:' .. generation .. ':' .. key end
  local function next_set(key) return PREFIX .. 'next:' .. generation .. ':' .. key end
  local function running_set(key) return PREFIX .. 'running:' .. key end
  local function parked_member(key) return '*' .. key end

  -- Returns the limit key of an operation; false = none.
  local function key_of(id)
    if key_by_id[id] == nil then key_by_id[id] = call('HGET', extras_key(id), 'limitKey') end
    return key_by_id[id]
  end

  -- Returns the limits of a key: its own, or else those of all keys.
  local function limit_of(key)
    if limits[key] then return limits[key] end
    local set = call('HMGET', PREFIX .. 'keyLimits', '*', key)
    local concurrency, weight, rate = string.match(set[1] or '', LIMITS_OF_KEY)
    local own_concurrency, own_weight, own_rate = string.match(set[2] or '', LIMITS_OF_KEY)
    local limit = {
      concurrency = tonumber(own_concurrency) or tonumber(concurrency) or 0,
      weight = tonumber(own_weight) or tonumber(weight) or 1,
    }
    if own_rate and own_rate ~= '' then rate = own_rate end
    if rate and rate ~= '' then limit.rate = rate_of(rate, call('ZSCORE', BUCKETS, key)) end
    limits[key] = limit
    return limit
  end

  local function room_of(key, limit)
    local standing = call('ZCARD', next_set(key))
    local room = limit.weight - standing
    if limit.rate then room = min(room, limit.rate.starts() - standing) end
    if limit.concurrency == 0 then return room end
    return min(room, limit.concurrency - standing - call('SCARD', running_set(key)))
  end

  local function count_ready(key, n)
    local count = tonumber(call('ZINCRBY', PREFIX .. 'keyed', format('%d', n), key))
    if count <= 0 then
      call('ZREM', PREFIX .. 'keyed', key)
      call('ZREM', PREFIX .. 'keyNames', key)
    elseif count == n then
      call('ZADD', PREFIX .. 'keyNames', '0', key)
    end
  end

  -- Counts an operation whose record is gone (evicted, or deleted by hand) as removed, so that no operation of its key
  -- waits for it.
  local function note_missing(key, id)
    count_ready(key, -1)
    add('removed', 1)
    add('missing', 1)
    call('HSET', META, 'missing', id)
  end

  -- Takes the last operation of a key out of its lane, because an operation of a higher lane goes first or a limit was
  -- lowered. Its reference becomes stale. Returns whether the key had an operation in a lane below that rank.
  local function put_back(key, rank)
    local last = call('ZREVRANGE', next_set(key), '0', '0', 'WITHSCORES')
    if not last[1] or rank_of_score(last[2]) <= rank then return false end
    local header = read_header(record_key(last[1]))
    if header == '' then
      call('ZREM', next_set(key), last[1])
      note_missing(key, last[1])
      add('stale', 1)
      return true
    end
    write_head(record_key(last[1]), 'r', changed_header(header, next_revision(header)))
    call('ZREM', next_set(key), last[1])
    call('ZADD', waiting_set(key), last[2], last[1])
    add('stale', 1)
    add('keyed', 1)
    return true
  end

  -- Parks a key whose rate is used up until its next start. Meanwhile no operation of the key stands in a lane.
  local function park(key, limit)
    local is_out = limit.rate.starts() == 0 and call('EXISTS', waiting_set(key)) == 1
      and (limit.concurrency == 0 or call('SCARD', running_set(key)) < limit.concurrency)
    if not is_out then
      call('ZREM', PREFIX .. 'expiring', parked_member(key))
      return
    end
    local instant = limit.rate.next_start()
    -- A changed rate, or a clock that went back, has cut the bucket. The bucket stores the value that the instant is
    -- computed from.
    call('ZADD', BUCKETS, limit.rate.use(0), key)
    call('ZADD', PREFIX .. 'expiring', format('%d', instant), parked_member(key))
    wakes_at = min(wakes_at or instant, instant)
    limit_keys.has_parked = true
  end

  local function move_next(key)
    local limit = limit_of(key)
    local room = room_of(key, limit)
    while room < 0 and put_back(key, -1) do room = room + 1 end
    if room <= 0 and best[key] and put_back(key, best[key]) then room = 1 end
    best[key] = nil
    local moved = room > 0 and call('ZPOPMIN', waiting_set(key), format('%d', room)) or {}
    local is_missing = false
    for i = 1, #moved, 2 do
      local header = read_header(record_key(moved[i]))
      if header == '' then
        note_missing(key, moved[i])
        is_missing = true
      else
        call('ZADD', next_set(key), moved[i + 1], moved[i])
        call('RPUSH', PREFIX .. 'lane:' .. lane_of(header), header)
      end
    end
    if limit.rate then park(key, limit) end
    if #moved == 0 then return end
    add('keyed', -#moved / 2)
    has_moved = true
    if not is_missing then return end
    -- Others of the key follow, in this call or with the next claim.
    missing_left = missing_left - #moved / 2
    if missing_left > 0 then
      limit_keys.touch(key)
    else
      call('ZADD', PREFIX .. 'expiring', NOW, parked_member(key))
    end
  end

  -- Moves the next operations of each changed key into lanes. A claim calls this before it takes from lanes.
  function limit_keys.settle()
    local keys = touched
    touched, is_touched = {}, {}
    for i = 1, #keys do move_next(keys[i]) end
  end

  -- Deletes buckets that are full again: such a bucket holds no information.
  local function forget_buckets()
    local full = call('ZRANGEBYSCORE', BUCKETS, '-inf', format('%.0f', now * 1000), 'LIMIT', '0', FORGOTTEN_AT_ONCE)
    if #full > 0 then call('ZREM', BUCKETS, unpack(full)) end
    has_used = false
  end

  -- Runs after all other functions in `at_end`, because they may touch keys as well.
  local function finish()
    if at_end[#at_end] ~= finish then
      at_end[#at_end + 1] = finish
      return
    end
    is_at_end = false
    limit_keys.settle()
    if has_moved and is_anything_ready() then wake_for_ready() end
    if has_used then forget_buckets() end
    if wakes_at then announce_due(wakes_at) end
  end

  function limit_keys.touch(key)
    if is_touched[key] then return end
    is_touched[key] = true
    touched[#touched + 1] = key
    if not is_at_end then at_end[#at_end + 1] = finish end
    is_at_end = true
  end

  -- Call this when an operation becomes ready. Returns false if it has no key: the caller adds it to its lane.
  function limit_keys.enter(id, header)
    local key = key_of(id)
    if not key then return false end
    local score = place_score(header)
    call('ZADD', waiting_set(key), score, id)
    best[key] = min(best[key] or LANES, rank_of_score(score))
    add('keyed', 1)
    count_ready(key, 1)
    limit_keys.touch(key)
    return true
  end

  -- Call this when an operation is no longer ready. Returns whether it stood in no lane, so that no reference stays
  -- behind.
  function limit_keys.leave(id)
    local key = key_of(id)
    if not key then return false end
    count_ready(key, -1)
    limit_keys.touch(key)
    if call('ZREM', next_set(key), id) == 1 or call('ZREM', waiting_set(key), id) == 0 then return false end
    add('keyed', -1)
    return true
  end

  -- Handles a reference in a lane whose record is gone: the next operation of its key takes its turn. Returns whether
  -- the operation stood there for a key. If the key is no longer known, the first 1,000 keys are searched.
  function limit_keys.leave_missing(id)
    local keys = key_of(id) and { key_of(id) } or call('ZRANGE', PREFIX .. 'keyed', '0', '999')
    for i = 1, min(#keys, searches_left) do
      searches_left = searches_left - 1
      if call('ZREM', next_set(keys[i]), id) == 1 then
        note_missing(keys[i], id)
        limit_keys.touch(keys[i])
        return true
      end
    end
    return false
  end

  local function use_starts_of(key, rate, n)
    call('ZADD', BUCKETS, rate.use(n), key)
    has_used = true
  end

  -- Call start() when an operation starts, and stop() when it leaves its worker.
  function limit_keys.start(id)
    local key = key_of(id)
    if not key then return end
    call('SADD', running_set(key), id)
    local rate = limit_of(key).rate
    if rate then use_starts_of(key, rate, 1) end
  end

  function limit_keys.stop(id)
    local key = key_of(id)
    if not key then return end
    call('SREM', running_set(key), id)
    limit_keys.touch(key)
  end

  -- Returns the start of an operation that left its worker untried: a rate counts only tried ones.
  function limit_keys.untry(id)
    local key = key_of(id)
    local rate = key and limit_of(key).rate
    if rate then use_starts_of(key, rate, -1) end
  end

  return limit_keys
end
