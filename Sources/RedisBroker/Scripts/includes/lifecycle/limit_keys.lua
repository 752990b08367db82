-- in the base
-- Limit keys: of the operations with a key only so many run at once, and keys take fair shares. The extras of one have its key in the field
-- `limitKey`. While it is ready, it waits in `keyed:N:KEY`, by lane and then as it was enqueued, until it is one of the next of its key: these
-- stand in the lanes, and in `next:N:KEY`. There are as many of them as the weight of the key, and as its concurrency leaves. One that leaves its
-- lane makes way for another one of its key, behind what the others have there. `running:KEY` has what runs. N counts the cancels of the whole
-- queue: after one, keys start afresh. `keyed` says how many of each key are ready, and the total of that name how many of these stand in no lane.
-- By a rate, each operation that starts uses a start of its key's bucket in `keyBuckets`, and no more of a key stand in lanes than have one. A key
-- that has none is parked until the next one is back: as *KEY in `expiring`, where a claim finds the instant.
-- What only calls with such operations need is made by one function, and not with each run of the script.
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
  -- As many as a call can add.
  local FORGOTTEN_AT_ONCE = '100'
  limit_keys = {}

  local function waiting_set(key) return PREFIX .. 'keyed:' .. generation .. ':' .. key end
  local function next_set(key) return PREFIX .. 'next:' .. generation .. ':' .. key end
  local function running_set(key) return PREFIX .. 'running:' .. key end
  local function parked_member(key) return '*' .. key end

  -- False = it has none.
  local function key_of(id)
    if key_by_id[id] == nil then key_by_id[id] = call('HGET', extras_key(id), 'limitKey') end
    return key_by_id[id]
  end

  -- What is set for the key, or else for all.
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
    if tonumber(call('ZINCRBY', PREFIX .. 'keyed', format('%d', n), key)) <= 0 then call('ZREM', PREFIX .. 'keyed', key) end
  end

  -- Its record is gone, by an eviction or a hand. It counts as removed, and holds up no other one of its key.
  local function note_missing(key, id)
    count_ready(key, -1)
    add('removed', 1)
    add('missing', 1)
    call('HSET', META, 'missing', id)
  end

  -- The last of those in lanes waits again, and its reference is stale: another one of a higher lane goes first, or a limit was lowered. Returns
  -- whether there was one, in a lane below that rank.
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

  -- A key without a start, of which none stands in a lane then, takes no turns before the next one is back.
  local function park(key, limit)
    local is_out = limit.rate.starts() == 0 and call('EXISTS', waiting_set(key)) == 1
      and (limit.concurrency == 0 or call('SCARD', running_set(key)) < limit.concurrency)
    if not is_out then
      call('ZREM', PREFIX .. 'expiring', parked_member(key))
      return
    end
    local instant = limit.rate.next_start()
    -- A rate that was changed, or a clock that went back, has cut the bucket: it holds what the instant was reckoned from.
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
    -- Others of the key go on, in this call or with the next claim.
    missing_left = missing_left - #moved / 2
    if missing_left > 0 then
      limit_keys.touch(key)
    else
      call('ZADD', PREFIX .. 'expiring', NOW, parked_member(key))
    end
  end

  -- Makes way for the next ones of each key that something has changed in. A claim calls it before it takes from lanes.
  function limit_keys.settle()
    local keys = touched
    touched, is_touched = {}, {}
    for i = 1, #keys do move_next(keys[i]) end
  end

  -- Buckets that are full again say nothing.
  local function forget_buckets()
    local full = call('ZRANGEBYSCORE', BUCKETS, '-inf', format('%.0f', now * 1000), 'LIMIT', '0', FORGOTTEN_AT_ONCE)
    if #full > 0 then call('ZREM', BUCKETS, unpack(full)) end
    has_used = false
  end

  -- Behind all else that ends a call, since that may touch keys, too.
  local function finish()
    if at_end[#at_end] ~= finish then
      at_end[#at_end + 1] = finish
      return
    end
    is_at_end = false
    limit_keys.settle()
    if has_moved and call('EXISTS', PREFIX .. 'wake', PREFIX .. 'full') == 0 and call('EXISTS', PREFIX .. 'lane:0',
      PREFIX .. 'lane:1', PREFIX .. 'lane:2', PREFIX .. 'lane:3', PREFIX .. 'lane:4') > 0 then
      call('RPUSH', PREFIX .. 'wake', '1')
    end
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

  -- It becomes ready. False = it has no key, and goes to its lane.
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

  -- It was ready, and is no more. Returns whether it stood in no lane, so that nothing of it stays behind.
  function limit_keys.leave(id)
    local key = key_of(id)
    if not key then return false end
    count_ready(key, -1)
    limit_keys.touch(key)
    if call('ZREM', next_set(key), id) == 1 or call('ZREM', waiting_set(key), id) == 0 then return false end
    add('keyed', -1)
    return true
  end

  -- A reference to it was in a lane, and its record is gone: if it stood there for its key, the next one of the key does. Returns whether it did. Its key
  -- may be unknown by now; then the first 1,000 keys are looked at.
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

  -- It starts, or leaves its worker.
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

  -- It has left its worker untried: a rate counts what was tried.
  function limit_keys.untry(id)
    local key = key_of(id)
    local rate = key and limit_of(key).rate
    if rate then use_starts_of(key, rate, -1) end
  end

  return limit_keys
end
