-- include: record
-- include: batch_of
-- include: limit_key_names

-- An answer ends with the row by which it has so many bytes: one operation may have some MiB.
local ANSWER_BYTES = 4194304
local read = 0
local function is_full() return read >= ANSWER_BYTES end

-- Who has the unique key of one that may wait for its turn there; nil = unknown.
local function key_holder(id)
  local key = call('HGET', extras_key(id), 'unique')
  return key and string.match(call('HGET', PREFIX .. 'unique', key) or '', '^%w+')
end

-- One operation for people: its record and what only some have. nil and the record, if `is_sought` is given and says false of it.
local function detail(id, is_sought)
  local record = call('GET', record_key(id))
  if not record or #record < HEAD then return {} end
  read = read + #record
  if is_sought and not is_sought(record) then return nil, record end
  local state = state_of(record)
  local extras = call('HGETALL', extras_key(id))
  local stored = stored_state_of(record)
  if stored == 'u' then
    record = shown_as_ready(record)
    if state == 'r' then extras[#extras + 1], extras[#extras + 2] = 'unhandled', '1' end
  end
  local holder = state == 'b' and is_linked(record) and key_holder(id)
  if holder then extras[#extras + 1], extras[#extras + 2] = 'holder', holder end
  if stored == 'r' and state == 'r' and is_linked(record) then
    local key = call('HGET', extras_key(id), 'limitKey')
    if key and call('ZSCORE', waiting_of_key(key), id) then extras[#extras + 1], extras[#extras + 2] = 'waitsForKey', '1' end
  end
  local fence = fence_of(record)
  local is_requested = state == 'x' and fence <= tonumber(call('HGET', META, 'cancelledFence') or 0)
  local is_in_batch = state == 'c' and stored ~= 'c'
  if is_requested or is_in_batch then
    local at, by, reason
    if is_in_batch then
      at, by, reason = queue_cancel(record)
    else
      at, by, reason = string.match(call('HGET', META, 'cancelTrace') or '', '^(%d+) (%S*) ?(.*)$')
    end
    for _, value in ipairs({ 'queueCancelAt', at or '0', 'queueCancelBy', by or '', 'queueCancelReason', reason or '' }) do
      extras[#extras + 1] = value
    end
  end
  local owner = stored == 'x' and worker_of(record)
  local errors = call('LRANGE', errors_key(id), 0, -1)
  for _, texts in ipairs({ errors, extras }) do
    for i = 1, #texts do read = read + #texts[i] end
  end
  return { record, state, owner and format('%d ', fence) .. owner or '', errors, extras }
end
