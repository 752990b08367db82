-- Removes the waiting operations of a queue, a bounded part in each call: at most 200 operations and about 256 KiB.
-- Operations that arrive after the first call stay.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] highest sequence to remove, '' = this is the first call  ARGV[3] place, 1 = the first
-- ARGV[4]  how many members of it stay and were passed; for limit keys the cursor of a scan  ARGV[5] how many
--          operations the calls before removed
-- Output   removed, sequence, place where the next call goes on (0 = done), members passed
-- Events   the change, with the first call that removes something and with the last
-- include: base
-- include: limits
-- include: leave_waiting
-- include: erase
-- include: finish
-- include: linked_header
-- include: limit_keys
-- include: limit_key_names
-- include: flush
call('HDEL', META, '')
local by, last, place, passed = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local is_first = not last
last = last or tonumber(call('HGET', META, 'sequence') or 0)
local looked, bytes, removed, gone = 0, 0, 0, {}
local function has_room() return looked < SWEEP_LIMIT and bytes < REPLY_BYTES end

local function note_gone(id, head)
  if is_linked(head) then end_links(id, head, 'm') end
  gone[#gone + 1] = id
end

local function remove_record(id, head)
  leave_waiting(id, head)
  note_gone(id, head)
end

-- Purges a sorted set. Members that stay are passed by their rank.
local function purge_set(key)
  local ids = call('ZRANGE', key, format('%d', passed), format('%d', passed + SWEEP_LIMIT - looked - 1))
  for i = 1, #ids do
    local head = head_of(ids[i])
    looked = looked + 1
    if head and sequence_of(head) <= last then remove_record(ids[i], head) else passed = passed + 1 end
  end
  return #ids == 0
end

-- Purges a lane from its head; elements that stay go back to the head. Operations enqueued after the purge began are at
-- the tail, so the lane is done once a part has nothing to remove.
local function purge_lane(key)
  local kept, found = {}, false
  while has_room() do
    local element = call('LPOP', key)
    if not element then break end
    looked, bytes = looked + 1, bytes + #element
    local head = is_reference(element) and head_of(id_of(element))
    if is_reference(element) and not (head and stored_state_of(head) == 'r' and is_referred_to(head, element)) then
      add('stale', -1)
      found = true
    elseif sequence_of(element) > last then
      kept[#kept + 1] = element
    else
      found = true
      if head then
        leave_expiring(id_of(element), head)
        if has_limit_key(head) then limits_of_keys().leave(id_of(element)) end
        note_gone(id_of(element), head)
      else
        removed = removed + 1
      end
    end
  end
  for i = #kept, 1, -1 do call('LPUSH', key, kept[i]) end
  return not found
end

-- Purges the operations of a limit key that wait in no lane. This place comes before the lanes, because each operation
-- that leaves a lane would make way for one of these. `passed` is the cursor of a scan; its keys are purged before the
-- scan continues.
local function purge_key(key)
  for lane = 0, 4 do
    local first = place_score_of(lane, 0)
    local ids = call('ZRANGEBYSCORE', waiting_of_key(key), first, place_score_of(lane, last), 'LIMIT', '0', format('%d', SWEEP_LIMIT - looked))
    for i = 1, #ids do
      local head = head_of(ids[i])
      looked = looked + 1
      if head then remove_record(ids[i], head) end
    end
    if not has_room() then return end
  end
end

local function purge_keys()
  local scan = call('ZSCAN', PREFIX .. 'keyed', format('%.0f', passed), 'COUNT', '10')
  local keys = {}
  for i = 1, #scan[2], 2 do keys[#keys + 1] = scan[2][i] end
  table.sort(keys)
  for i = 1, #keys do
    purge_key(keys[i])
    if not has_room() then return false end
  end
  passed = tonumber(scan[1])
  return passed == 0
end

-- The unhandled names in alphabetical order, which does not change while their numbers do.
local names
local function unhandled_name(index)
  if not names then
    names = call('ZRANGE', PREFIX .. 'unhandled', 0, -1)
    table.sort(names)
  end
  return names[index]
end

-- Places: three sets, limit keys, five lanes, then the sets of unhandled names. An operation that waits for its turn at
-- a unique key goes before the holder.
local SETS = { 'blocked', 'scheduled', 'retrying' }
local function purge_place()
  if SETS[place] then return purge_set(PREFIX .. SETS[place]) end
  if place == 4 then return purge_keys() end
  if place <= 9 then return purge_lane(PREFIX .. 'lane:' .. (place - 5)) end
  local name = unhandled_name(place - 9)
  if not name then return nil end
  local before = #gone
  local is_end = purge_set(unhandled_key(call('HGET', PREFIX .. 'unhandled:names', name) or ''))
  -- The name goes with its last operation, and the next name takes its place.
  if #gone > before and not call('ZSCORE', PREFIX .. 'unhandled', name) then
    table.remove(names, place - 9)
    passed = 0
    return false
  end
  return is_end
end

while place > 0 and has_room() do
  local is_end = purge_place()
  if is_end == nil then
    place = 0
  elseif is_end then
    place, passed = place + 1, 0
  end
end

if #gone > 0 then
  -- Operations that wait for these are notified while the records exist.
  go_on()
  erase(gone)
end
removed = removed + #gone
add('removed', removed)
local total = removed + tonumber(ARGV[5])
if total > 0 and (place == 0 or is_first and removed > 0) then
  note_change('purge', by, total, place == 0 and '' or 'begun')
end
flush()
return { removed, format('%d', last), place, passed }
