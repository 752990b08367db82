-- Checks a part of one place of a queue: every operation in it has a record that agrees.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  codes of findings to fix, each between blanks
-- ARGV[2]  lane:N | unhandled:N | keyed:N:KEY | next:N:KEY | running:KEY | scheduled | retrying | blocked | expiring |
--          unique | ended:S | inflight:WORKER | cancelling:WORKER | batch:N
-- ARGV[3]  cursor, 0 = the beginning  ARGV[4] about how many to look at, at most 500
-- Output   cursor of the rest (0 = none), number looked at, number of stale references, findings, then for a lane the
--          operations that are ready there
-- Events   r for each operation that can start because the holder of its unique key is gone; without codes to fix
--          nothing changes
-- Lanes are read from their tails, so no element is missed if others are pushed or popped meanwhile.
-- include: base
-- include: record
-- include: linked_header
-- include: audit
-- include: limit_key_names
-- include: limit_keys
-- include: pass_keys
-- include: finish
-- include: flush
-- A removing command first: a fix must work when Redis is full.
if ARGV[1] ~= '' then call('HDEL', META, '') end
local place, cursor, limit = ARGV[2], ARGV[3], min(tonumber(ARGV[4]), 500)
local kind, about = string.match(place, '^(%a+):?(.*)$')
local key = PREFIX .. place
local looked, stale, live = 0, 0, {}

local highest_sequence, highest_fence = 0, 0
-- Checks that a counter of the queue is not behind a number in use.
local function check_counter(name, highest)
  local counter = tonumber(call('HGET', META, name) or 0)
  if highest <= counter then return end
  finding('counterBack', name, format('%.0f is in use in %s, but the counter is at %.0f, so numbers would repeat', highest, place, counter),
    format('raise the counter to %.0f', highest), { hset, META, name, format('%.0f', highest) })
end

local seen = {}
local function check_reference(element)
  local id = id_of(element)
  local head = head_of(id)
  if not head or stored_state_of(head) ~= 'r' or not is_referred_to(head, element) then
    stale = stale + 1
    return
  end
  if seen[id] then
    finding('twice', id, 'two references in ' .. place, 'take one out', { lrem, key, '-1', element })
  end
  seen[id] = true
  live[#live + 1] = id
end

local function check_lane_element(element)
  local header = header_of(element)
  if not is_header(header) or not is_id(id_of(header)) then
    finding('malformed', place, 'an element without a valid header, which cannot be an operation', 'delete it', { lrem, key, '1', element })
    return
  end
  highest_sequence = max(highest_sequence, sequence_of(header) or 0)
  if is_reference(element) then check_reference(element) end
end

local function walk_lane()
  local position, bytes = tonumber(cursor), 0
  while looked < limit and bytes < 262144 do
    local elements = call('LRANGE', key, -position - 25, -position - 1)
    for i = #elements, 1, -1 do
      bytes = bytes + #elements[i]
      check_lane_element(elements[i])
    end
    looked, position = looked + #elements, position + #elements
    if #elements < 25 then return '0' end
  end
  return format('%d', position)
end

-- Removes an operation from a set of its limit key, so that other operations of the key continue.
local function leave_key_places(member)
  call('ZREM', key, member)
  limits_of_keys().touch(string.match(about, '^%d+:(.*)$'))
end

local function pass_key(name, holder)
  note_freed(name, holder)
  pass_keys()
end

-- Checks a member of a sorted set: its record must say the same state.
local function check_member(id, state)
  local head = head_of(id)
  if not head then
    finding('noRecord', id, 'in ' .. place .. ', but it has no record, so its envelope is lost', 'take it out',
      (kind == 'keyed' or kind == 'next') and { leave_key_places, id } or { zrem, key, id })
    return
  end
  local stored = stored_state_of(head)
  if stored ~= state then
    finding('twice', id, 'in ' .. place .. ', but its record says ' .. name_of(stored), 'take it out of ' .. place, { zrem, key, id })
  elseif stored == 'u' and set_number_of(head) ~= about then
    finding('twice', id, 'in ' .. place .. ', but its record names another set', 'take it out of ' .. place, { zrem, key, id })
  end
end

-- Checks that an operation with a deadline still waits. An entry that begins with * is a limit key whose rate is used
-- up, and not an id.
local function check_expiring(id)
  if find(id, '*', 1, true) == 1 then return end
  local head = head_of(id)
  local state = head and stored_state_of(head)
  if not state or not find(state, '[rsub]') then
    finding('leftover', id, 'it has a deadline, but no longer waits', 'remove the deadline', { zrem, key, id })
  end
end

local function walk_set()
  local scan = call('ZSCAN', key, cursor, 'COUNT', limit)
  for i = 1, #scan[2], 2 do
    looked = looked + 1
    if kind == 'expiring' then check_expiring(scan[2][i]) else check_member(scan[2][i], STATE_OF[kind] or about) end
  end
  return scan[1]
end

local function check_held(fence, element)
  local words, drop = 'remove it from the worker', { hdel, key, fence }
  local number = tonumber(fence)
  if not number or #element < 64 or not is_id(id_of(element)) then
    finding('malformed', place, format('an entry under fence "%.30s" that is not an operation', fence), words, drop)
    return
  end
  highest_fence = max(highest_fence, number)
  if not is_reference(element) then return end
  local id = id_of(element)
  local head = head_of(id)
  if not head then
    finding('noRecord', id, 'held under fence ' .. fence .. ', but it has no record', words, drop)
  elseif stored_state_of(head) ~= 'x' then
    finding('twice', id, 'held under fence ' .. fence .. ', but its record says ' .. name_of(stored_state_of(head)), words, drop)
  elseif fence_of(head) ~= number then
    finding('twice', id, format('held under fence %s, but its record says fence %d', fence, fence_of(head)), words, drop)
  elseif worker_of(head) ~= about then
    finding('owner', id, 'held by ' .. about .. ', but its record names ' .. (worker_of(head) or 'no known worker') .. ', so a cancel would not reach it',
      'restore the number of ' .. about, { hset, PREFIX .. 'numbers', worker_number_of(head), about })
  end
end

local function walk_held()
  local scan = call('HSCAN', key, cursor, 'COUNT', min(limit, 100))
  if call('ZSCORE', PREFIX .. 'leases', about) == false and #scan[2] > 0 and cursor == '0' then
    finding('noLease', about, 'holds operations without a lease, so no sweep recovers them',
      'add a lapsed lease, so that a sweep recovers them', { zadd, PREFIX .. 'leases', '1', about })
  end
  for i = 1, #scan[2], 2 do
    looked = looked + 1
    check_held(scan[2][i], scan[2][i + 1])
  end
  return scan[1]
end

-- Ends the count of an operation for its limit key; the next one of the key takes the place.
local function stop_counting(id)
  srem(key, id)
  limits_of_keys().touch(about)
end

-- Operations that a limit key counts as running must run. Others are taken out, which frees their places.
local function walk_running()
  local scan = call('SSCAN', key, cursor, 'COUNT', limit)
  for i = 1, #scan[2] do
    looked = looked + 1
    local head = head_of(scan[2][i])
    if not head or stored_state_of(head) ~= 'x' then
      finding('leftover', scan[2][i], 'limit key ' .. about .. ' counts it as running, but it does not run, so others of the key wait',
        'stop counting it', { stop_counting, scan[2][i] })
    end
  end
  return scan[1]
end

local function walk_cancel_requests()
  local scan = call('HSCAN', key, cursor, 'COUNT', limit)
  for i = 1, #scan[2], 2 do
    looked = looked + 1
    local is_forced = find(scan[2][i + 1], '!', 1, true) == 1
    if not is_forced and call('HEXISTS', PREFIX .. 'inflight:' .. about, scan[2][i]) == 0 then
      finding('leftover', scan[2][i], 'a cancel for a fence that ' .. about .. ' does not hold',
        'delete it', { hdel, key, scan[2][i] })
    end
  end
  return scan[1]
end

-- Sweeps clear away a batch only if the list of batches names it.
local function check_batch()
  for _, batch in ipairs(call('LRANGE', PREFIX .. 'batches', 0, 999)) do
    if string.match(batch, '^%d+') == about then return '0' end
  end
  local keys = {}
  for _, name in ipairs({ 'lane:0', 'lane:1', 'lane:2', 'lane:3', 'lane:4', 'scheduled', 'retrying', 'blocked', 'unhandled', 'names', 'keyed' }) do
    if call('EXISTS', key .. ':' .. name) == 1 then keys[#keys + 1] = key .. ':' .. name end
  end
  if #keys > 0 then
    finding('leftover', place, 'left of a cancelled queue, but not in the list of batches, so no sweep clears it away', 'delete it', { unlink, keys })
  end
  return '0'
end

-- The unique key of an ended operation is free all the same, but an operation that waits for it would wait for ever.
local function check_unique(name, holder)
  local id, rest = string.match(holder, '^(%w+) ?(.*)$')
  local head = rest == '' and head_of(id)
  local state = head and state_of(head)
  if rest ~= '' or (state and find('rstbx', state, 1, true)) then return end
  if head and state ~= stored_state_of(head) then return end -- of a cancelled queue, not cleared away yet
  local waiting = call('ZCARD', PREFIX .. 'behind:' .. name)
  finding(waiting > 0 and 'lost' or 'leftover', name, 'a unique key held by ' .. id .. ', which '
    .. (state and 'is ' .. name_of(state) or 'has no record') .. (waiting > 0 and format('; operations that wait for the key: %d', waiting) or ''),
    waiting > 0 and 'pass the key to the next one' or 'free the key', { pass_key, name, id })
end

local function walk_unique()
  local scan = call('HSCAN', key, cursor, 'COUNT', limit)
  for i = 1, #scan[2], 2 do
    looked = looked + 1
    check_unique(scan[2][i], scan[2][i + 1])
  end
  return scan[1]
end

local WALKS = { unique = walk_unique, lane = walk_lane, inflight = walk_held, cancelling = walk_cancel_requests, batch = check_batch,
  running = walk_running }
local rest = (WALKS[kind] or walk_set)()
check_counter('sequence', highest_sequence)
check_counter('fence', highest_fence)
flush()
local reply = { rest, looked, stale, findings }
for i = 1, #live do reply[i + 4] = live[i] end
return reply
