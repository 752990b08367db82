-- A cancelled queue's lanes and sets were renamed to a grave; its operations count as cancelled already. Here they are cleared
-- away, a bounded number at a time.
local function bury_record(id, sequence_limit, trace)
  local head = head_of(id)
  local state = head and sub(head, 65, 65)
  if not state or not find(state, '[rstu]') then return end
  if tonumber(sub(head, 28, 38), 16) > sequence_limit then return end
  if state == 'u' then call('SETRANGE', record_key(id), 64, 'r' .. ZERO9 .. ZERO9) end
  note_cancel(id, trace)
  -- The cancel of the queue has counted and announced it.
  end_record(id, head, 'c', sub(head, 5, 7), next_revision(sub(head, 4, 4)), string.match(trace, '^%d+'))
  add('clearing', -1)
end

-- One at a time, since an untracked one has up to 1 MiB.
local function bury_lane(key, limit, trace)
  local popped, bytes = 0, 0
  while popped < SWEEP_LIMIT and bytes < REPLY_BYTES do
    local element = call('LPOP', key)
    if not element then break end
    popped, bytes = popped + 1, bytes + #element
    if is_reference(element) then bury_record(sub(element, 39, 64), limit, trace) else add('clearing', -1) end
  end
  return popped
end

-- The sets of its unhandled operations, one name after the other.
local function bury_unhandled(prefix, limit, trace)
  local name = call('ZRANGE', prefix .. 'unhandled', 0, 0)[1]
  if not name then return 0 end
  local popped = call('ZPOPMIN', PREFIX .. 'unhandled:' .. (call('HGET', prefix .. 'names', name) or ''), SWEEP_LIMIT)
  for i = 1, #popped, 2 do bury_record(popped[i], limit, trace) end
  if #popped < 2 * SWEEP_LIMIT then call('ZREM', prefix .. 'unhandled', name) end
  return max(1, #popped / 2)
end

local function bury()
  local grave = call('LINDEX', PREFIX .. 'graves', 0)
  if not grave then return 0 end
  local number, limit, trace = string.match(grave, '^(%d+) (%d+) (.*)$')
  limit = tonumber(limit)
  local prefix = PREFIX .. 'grave:' .. number .. ':'
  for lane = 0, 4 do
    local popped = bury_lane(prefix .. 'lane:' .. lane, limit, trace)
    if popped > 0 then return popped end
  end
  for _, place in ipairs({ 'scheduled', 'retrying' }) do
    local popped = call('ZPOPMIN', prefix .. place, SWEEP_LIMIT)
    for i = 1, #popped, 2 do bury_record(popped[i], limit, trace) end
    if #popped > 0 then return #popped / 2 end
  end
  local unhandled = bury_unhandled(prefix, limit, trace)
  if unhandled > 0 then return unhandled end
  call('DEL', prefix .. 'names')
  call('LPOP', PREFIX .. 'graves')
  -- An older version of the cancel did not count.
  if call('EXISTS', PREFIX .. 'graves') == 0 then call('HDEL', TOTALS, 'clearing') end
  return 0
end
