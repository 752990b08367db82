-- Clears away cancelled batches: renamed lanes and sets of a cancelled queue, whose operations already count as
-- cancelled. A sweep clears away a bounded number at a time.
-- include: finish
-- include: unhandled
-- include: cancel_request
-- include: limits
local function clear_record(id, sequence_limit, trace)
  local head = head_of(id)
  local state = head and stored_state_of(head)
  if not state or not find(state, '[rstub]') or sequence_of(head) > sequence_limit then return end
  if state == 'u' then as_ready(id) end
  note_cancel(id, trace)
  -- No count and no event: the script that cancelled the queue has done both.
  finish_waiting(id, head, 'c', string.match(trace, '^%d+'))
  add('clearing', -1)
end

-- Pops one element at a time, since an untracked operation has up to 1 MiB.
local function clear_lane(key, limit, trace)
  local popped, bytes = 0, 0
  while popped < CLEAR_LIMIT and bytes < REPLY_BYTES do
    local element = call('LPOP', key)
    if not element then break end
    popped, bytes = popped + 1, bytes + #element
    if is_reference(element) then clear_record(id_of(element), limit, trace) else add('clearing', -1) end
  end
  return popped
end

-- Clears away the sets of unhandled operations, one name after the other.
local function clear_unhandled(prefix, limit, trace)
  local name = call('ZRANGE', prefix .. 'unhandled', 0, 0)[1]
  if not name then return 0 end
  local popped = call('ZPOPMIN', PREFIX .. 'unhandled:' .. (call('HGET', prefix .. 'names', name) or ''), CLEAR_LIMIT)
  for i = 1, #popped, 2 do clear_record(popped[i], limit, trace) end
  if #popped < 2 * CLEAR_LIMIT then call('ZREM', prefix .. 'unhandled', name) end
  return max(1, #popped / 2)
end

-- Clears away the sets of limit keys, one key after the other. The names of these sets have the number of the batch
-- before.
local function clear_keys(number, limit, trace)
  local key = call('ZRANGE', PREFIX .. 'batch:' .. number .. ':keyed', 0, 0)[1]
  if not key then return 0 end
  local suffix = format('%d', number - 1) .. ':' .. key
  local popped = call('ZPOPMIN', PREFIX .. 'keyed:' .. suffix, CLEAR_LIMIT)
  for i = 1, #popped, 2 do clear_record(popped[i], limit, trace) end
  if #popped < 2 * CLEAR_LIMIT then
    call('DEL', PREFIX .. 'next:' .. suffix)
    call('ZREM', PREFIX .. 'batch:' .. number .. ':keyed', key)
  end
  return max(1, #popped / 2)
end

-- Clears away a part of the first batch. Returns how many operations went.
local function clear_batch()
  local batch = call('LINDEX', PREFIX .. 'batches', 0)
  if not batch then return 0 end
  local number, limit, trace = string.match(batch, '^(%d+) (%d+) (.*)$')
  limit = tonumber(limit)
  local prefix = PREFIX .. 'batch:' .. number .. ':'
  for lane = 0, 4 do
    local popped = clear_lane(prefix .. 'lane:' .. lane, limit, trace)
    if popped > 0 then return popped end
  end
  for _, place in ipairs({ 'scheduled', 'retrying', 'blocked' }) do
    local popped = call('ZPOPMIN', prefix .. place, CLEAR_LIMIT)
    for i = 1, #popped, 2 do clear_record(popped[i], limit, trace) end
    if #popped > 0 then return #popped / 2 end
  end
  local unhandled = clear_unhandled(prefix, limit, trace)
  if unhandled > 0 then return unhandled end
  local keyed = clear_keys(number, limit, trace)
  if keyed > 0 then return keyed end
  call('DEL', prefix .. 'names')
  call('LPOP', PREFIX .. 'batches')
  -- A cancel by an older version did not count.
  if call('EXISTS', PREFIX .. 'batches') == 0 then call('HDEL', TOTALS, 'clearing') end
  return 0
end
