-- How enqueue makes what is stored: records at once, and what goes to the lanes and sets all together at the end.
local sequence, earliest
local lanes, scheduled, expiring, outcomes = {}, {}, {}, {}
local function lane_of(front)
  local lane = sub(front, 3, 3)
  if not lanes[lane] then lanes[lane] = {} end
  return lanes[lane]
end

-- The instant that a duration of the front leads to, nil if it has none.
local function instant(front, from)
  local duration = sub(front, from, from + 8)
  return duration ~= ZERO9 and min(now + tonumber(duration, 36), LATEST) or nil
end

-- An untracked one is its lane element. Every string costs time for each of its bytes, so one is made, and of the sequence
-- only every sixteenth number is written.
local function store_untracked(group)
  local front, lane, deadline = group.front, lane_of(group.front), instant(group.front, 19)
  local stamped = sub(front, 1, 9) .. NOW36 .. (deadline and time36(deadline) or ZERO9)
  local sent, before, place, prefix = ARGV, group.from - 1, #lane, nil
  for i = 1, group.count do
    local digit = (sequence + i) % 16
    if digit == 0 or i == 1 then prefix = stamped .. format('%010x', (sequence + i - digit) / 16) end
    lane[place + i] = prefix .. sub(DIGITS, digit + 1, digit + 1) .. sent[before + i]
  end
  sequence = sequence + group.count
  local named = min(50 - event_count, group.count)
  for i = group.from, group.from + named - 1 do event(sub(ARGV[i], 1, 26), 'r', false) end
  events_unnamed('r', group.count - max(0, named))
  outcomes[#outcomes + 1] = string.rep('1', group.count)
  return group.count
end

local function note_time(set, instant, id)
  set[#set + 1] = format('%d', instant)
  set[#set + 1] = id
  earliest = min(earliest or instant, instant)
end

-- The places of those whose records were made.
local function place_tracked(ids, references, front, due, deadline)
  if #ids == 0 then return end
  local lane = not due and lane_of(front)
  for i = 1, #ids do
    if due then note_time(scheduled, due, ids[i]) else lane[#lane + 1] = references[i] end
    if deadline then note_time(expiring, deadline, ids[i]) end
    event(ids[i], due and 's' or 'r', false)
  end
end

-- A tracked one, and what waits for its time is tracked: a record, if its id is new, and a reference to it in its place.
local function store_tracked(group)
  local front, due, deadline = group.front, instant(group.front, 10), instant(group.front, 19)
  local stamped = '11' .. sub(front, 3, 9) .. time36(due or now) .. (deadline and time36(deadline) or ZERO9)
  local ids, references, keys_and_records = {}, {}, {}
  local seen, is_distinct = {}, true
  for i = 1, group.count do
    local operation = ARGV[group.from + i - 1]
    local id = sub(operation, 1, 26)
    ids[i], references[i] = id, stamped .. format('%011x', sequence + i) .. id
    is_distinct, seen[id] = is_distinct and not seen[id], true
    keys_and_records[2 * i - 1] = record_key(id)
    keys_and_records[2 * i] = new_record(references[i], due and 's' or 'r', NOW36, sub(operation, 27))
  end
  sequence = sequence + group.count

  -- All at once, or one by one if some id is known.
  if is_distinct and call('MSETNX', unpack(keys_and_records)) == 1 then
    outcomes[#outcomes + 1] = string.rep('1', group.count)
    place_tracked(ids, references, front, due, deadline)
    return group.count
  end
  local new_ids, new_references = {}, {}
  for i = 1, group.count do
    local is_new = call('SET', keys_and_records[2 * i - 1], keys_and_records[2 * i], 'NX')
    outcomes[#outcomes + 1] = is_new and '1' or '0'
    if is_new then new_ids[#new_ids + 1], new_references[#new_references + 1] = ids[i], references[i] end
  end
  place_tracked(new_ids, new_references, front, due, deadline)
  return #new_ids
end
