-- Removes at most `limit` ended operations: those that are too old, or those beyond the count. Not those that somebody waited for lately.
local function trim(state, limit)
  local key, longest, most = PREFIX .. 'ended:' .. state, retention(state)
  local is_awaited = call('EXISTS', AWAITED) == 1
  local passed, since, is_cut = 0, nil, false

  -- A `wait` of days on many ids keeps those of them that have ended among the oldest. `passed` says behind how many a call begins,
  -- so that it comes to others too; once a minute from the beginning, since a wait may have ended.
  local field = 'passed:' .. state
  if is_awaited then
    local count, at = string.match(call('HGET', META, field) or '', '^(%d+) (%d+)$')
    if count and now - tonumber(at) <= AWAITED_MS then passed, since = tonumber(count), at end
  end

  local function was_awaited_lately(id)
    local at = call('ZSCORE', AWAITED, id)
    return at and now - tonumber(at) <= AWAITED_MS
  end

  -- The oldest, at most `wanted`, that ended that long ago, and how many were passed over.
  local function ended_before(age, wanted)
    local found, first, looked = {}, passed, 0
    while true do
      local missing = wanted - #found
      local ids = call('ZRANGEBYSCORE', key, '-inf', format('%d', now - age), 'LIMIT', format('%d', first + #found),
        format('%d', missing))
      if not is_awaited then return ids, 0 end
      for i = 1, #ids do
        if was_awaited_lately(ids[i]) then first = first + 1 else found[#found + 1] = ids[i] end
      end
      looked = looked + #ids
      is_cut = looked >= wanted + PASSED_AT_ONCE
      if is_cut or #ids < missing or #found == wanted then return found, first end
    end
  end

  local ids, first = ended_before(longest, limit)
  local over = min(call('ZCARD', key) - most, limit)
  if over > #ids then ids, first = ended_before(RETENTION_LEAST_MS, over) end
  if since or is_cut then call('HSET', META, field, format('%d ', first) .. (since or NOW)) end
  if #ids == 0 then return end
  call('ZREM', key, unpack(ids))
  erase(ids)
  add('trimmed', #ids)
end
