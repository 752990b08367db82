-- include: limits
-- include: waiters
-- include: erase
-- include: end_links

-- Notes the removal of ended operations, so that dependents no longer wait for a retry of them. A new sequence makes
-- the removal count. A sweep notifies the dependents, because there may be many.
local function note_removals(ids)
  for i = 1, #ids do
    local about = call('HMGET', extras_key(ids[i]), 'dependents', 'dependentQueues')
    if about[1] or about[2] then
      local sequence = call('HINCRBY', META, 'sequence', 1)
      add('notEnqueued', 1)
      if about[1] then call('ZADD', OUTBOX, outbox_score(sequence, 'm'), ids[i]) end
      if about[2] then send_end(ids[i], sequence, 'm', about[2]) end
      note_new_outbox()
      note_go_on()
    end
  end
end

-- Removes at most `limit` ended operations that are too old, or beyond the count. Operations that a client waited for
-- lately stay.
local function trim(state, limit)
  local key, longest, most = PREFIX .. 'ended:' .. state, retention(state)
  local too_old, old_enough, over = now - longest, now - RETENTION_LEAST_MS, call('ZCARD', key) - most

  local function oldest()
    local ids = call('ZRANGEBYSCORE', key, '-inf', format('%d', too_old), 'LIMIT', '0', format('%d', limit))
    local surplus = min(over, limit)
    if surplus <= #ids then return ids end
    return call('ZRANGEBYSCORE', key, '-inf', format('%d', old_enough), 'LIMIT', '0', format('%d', surplus))
  end

  local function was_awaited_lately(id)
    local at = call('ZSCORE', AWAITED, id)
    return at and now - tonumber(at) <= AWAITED_MS
  end

  -- Finds the oldest operations that no client waits for. A `wait` of days on many ids keeps ended operations among the
  -- oldest. A call that skips so many that it finds too few stores how many, and the next call goes on at that rank.
  -- The search starts anew once it has seen all removable operations and a minute has passed, since a wait may have
  -- ended.
  local function oldest_but_awaited()
    local field = 'passed:' .. state
    local before, since = string.match(call('HGET', META, field) or '', '^(%d+) (%d+)$')
    local passed, found, is_at_end = tonumber(before or 0), {}, false

    local function look_at(id, ended_at, rank)
      if ended_at > too_old and (rank >= over or ended_at > old_enough) then
        is_at_end = true
      elseif was_awaited_lately(id) then
        passed = passed + 1
      else
        found[#found + 1] = id
      end
    end
    local function look_at_next(count)
      local first = passed + #found
      local entries = call('ZRANGE', key, format('%d', first), format('%d', first + count - 1), 'WITHSCORES')
      for i = 1, #entries, 2 do
        if is_at_end or #found == limit then return end
        look_at(entries[i], tonumber(entries[i + 1]), first + (i - 1) / 2)
      end
      is_at_end = is_at_end or #entries < 2 * count
    end

    look_at_next(limit)
    if not is_at_end and #found < limit then look_at_next(PASSED_AT_ONCE) end
    if since and is_at_end and now - tonumber(since) > AWAITED_MS then
      call('HDEL', META, field)
    elseif since or not is_at_end and #found < limit then
      call('HSET', META, field, format('%d ', passed) .. (since or NOW))
    end
    return found
  end

  -- Each end in this call has set `is_anything_awaited`.
  local ids = is_anything_awaited and oldest_but_awaited() or oldest()
  if #ids == 0 then return end
  call('ZREM', key, unpack(ids))
  if state ~= 'f' then note_removals(ids) end
  erase(ids)
  add('trimmed', #ids)
end
