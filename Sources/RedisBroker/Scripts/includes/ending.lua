-- What every end of an operation has in common: the record, the set of its state, waiters, totals, retention.
local TOTAL_OF = { f = 'finished', d = 'dead', c = 'cancelled', e = 'expired' }
local ended = { f = {}, d = {}, c = {}, e = {} }

local function publish_end(id, head, state)
  if sub(head, 86, 86) ~= '1' then return end
  local waiters = call('HGET', extras_key(id), 'waiters')
  if not waiters then return end
  for waiter in string.gmatch(waiters, '%S+') do
    call('PUBLISH', PREFIX .. 'waiter:' .. waiter, state .. id)
  end
end

-- Ends the record. `failed` is its number of used attempts, three digits; `revision` changes where a reference stays behind.
-- `is_known`: its end was counted and announced before.
local function end_record(id, head, state, failed, revision, is_known)
  call('SETRANGE', record_key(id), 3,
    (revision or sub(head, 4, 4)) .. failed .. sub(head, 8, 64) .. state .. sub(head, 66, 104) .. NOW36)
  local list = ended[state]
  list[#list + 1] = now
  list[#list + 1] = id
  publish_end(id, head, state)
  if is_known then
    add(TOTAL_OF[state], -1)
  else
    event(id, state, state ~= 'f')
  end
end

-- Removes every key of an operation.
local function erase(id)
  call('DEL', record_key(id), extras_key(id), PREFIX .. 'errors:' .. id, PREFIX .. 'log:' .. id)
end

-- Removes at most `limit` ended operations that are too old, then those beyond the count.
local function trim(state, limit)
  local key = PREFIX .. 'ended:' .. state
  local ids = call('ZRANGEBYSCORE', key, '-inf', now - RETENTION_MS[state], 'LIMIT', 0, limit)
  local over = min(call('ZCARD', key) - RETENTION_COUNT[state], limit)
  if over > #ids then
    ids = call('ZRANGEBYSCORE', key, '-inf', now - RETENTION_LEAST_MS, 'LIMIT', 0, over)
  end
  if #ids == 0 then return end
  local awaited = PREFIX .. 'awaited'
  local checks = call('EXISTS', awaited) == 1
  for i = 1, #ids do
    local waited = checks and call('ZSCORE', awaited, ids[i])
    if not waited or now - tonumber(waited) > AWAITED_MS then
      call('ZREM', key, ids[i])
      erase(ids[i])
      add('trimmed', 1)
    end
  end
end

local function flush_ended()
  for state, list in pairs(ended) do
    local n = #list / 2
    if n > 0 then
      call('ZADD', PREFIX .. 'ended:' .. state, unpack(list))
      add(TOTAL_OF[state], n)
      trim(state, 2 * n)
    end
  end
end
