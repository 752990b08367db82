-- New operations enter the queue. Records are written at once; the elements of lanes and sets are written together at
-- the end.
-- include: front
-- include: create_record
-- include: enter_queue
local sequence
local lanes, scheduled, expiring, outcomes = {}, {}, {}, {}

local function note_time(set, instant, id)
  set[#set + 1] = format('%d', instant)
  set[#set + 1] = id
  note_startable(instant)
end

-- An untracked operation is its lane element. Every new string costs time for each of its bytes, so each element is
-- made once, and only every sixteenth sequence is formatted.
local function enter_untracked(group)
  local lane, stamp = list_in(lanes, lane_of(group.front)), stamped(group.front, nil, expiry_of(group.front))
  local sent, before, place, prefix = ARGV, group.from - 1, #lane, nil
  for i = 1, group.count do
    local digit = (sequence + i) % 16
    if digit == 0 or i == 1 then prefix = stamp .. format('%010x', (sequence + i - digit) / 16) end
    lane[place + i] = prefix .. sub(DIGITS, digit + 1, digit + 1) .. sent[before + i]
  end
  sequence = sequence + group.count
  local named = min(50 - event_count, group.count)
  for i = group.from, group.from + named - 1 do event(sent_id_of(ARGV[i]), 'r', false) end
  events_unnamed('r', group.count - max(0, named))
  outcomes[#outcomes + 1] = string.rep('1', group.count)
  return group.count
end

-- Gathers the places of operations whose records were created.
local function place_tracked(ids, references, front, due, deadline)
  if #ids == 0 then return end
  local lane = not due and list_in(lanes, lane_of(front))
  for i = 1, #ids do
    if due then note_time(scheduled, due, ids[i]) else lane[#lane + 1] = references[i] end
    if deadline then note_time(expiring, deadline, ids[i]) end
    event(ids[i], due and 's' or 'r', false)
  end
end

-- Enters tracked operations; a delayed operation is always tracked. Each gets a record, if its id is new, and a
-- reference to it in its place.
local function enter_tracked(group)
  local front, due, deadline = group.front, due_of(group.front), expiry_of(group.front)
  local stamp = stamped_tracked(front, due, deadline)
  local ids, references, keys_and_records = {}, {}, {}
  local seen, is_distinct = {}, true
  for i = 1, group.count do
    local operation = ARGV[group.from + i - 1]
    local id = sent_id_of(operation)
    ids[i], references[i] = id, stamp .. format('%011x', sequence + i) .. id
    is_distinct, seen[id] = is_distinct and not seen[id], true
    keys_and_records[2 * i - 1] = record_key(id)
    keys_and_records[2 * i] = new_record(references[i], due and 's' or 'r', NOW36, sent_envelope_of(operation))
  end
  sequence = sequence + group.count

  -- Creates all records at once, or one by one if an id is known.
  if is_distinct and create_records(keys_and_records) then
    outcomes[#outcomes + 1] = string.rep('1', group.count)
    place_tracked(ids, references, front, due, deadline)
    return group.count
  end
  local new_ids, new_references = {}, {}
  for i = 1, group.count do
    local is_new = create_record(keys_and_records[2 * i - 1], keys_and_records[2 * i])
    outcomes[#outcomes + 1] = is_new and '1' or '0'
    if is_new then new_ids[#new_ids + 1], new_references[#new_references + 1] = ids[i], references[i] end
  end
  place_tracked(new_ids, new_references, front, due, deadline)
  return #new_ids
end

-- Writes the gathered places.
local function write_places()
  enter_lanes(lanes)
  if #scheduled > 0 then call('ZADD', PREFIX .. 'scheduled', unpack(scheduled)) end
  if #expiring > 0 then call('ZADD', PREFIX .. 'expiring', unpack(expiring)) end
  if next(lanes) then note_startable() end
  lanes, scheduled, expiring = {}, {}, {}
end

local function enter_group(group)
  if is_tracked(group.front) then return enter_tracked(group) end
  return enter_untracked(group)
end

-- Linked operations go to their places one by one, behind the operations before them in the call.
local function enter_linked_group(group, enter_linked)
  write_places()
  local created = 0
  for i = 1, group.count do
    local outcome = enter_linked(group, i, sequence + i)
    outcomes[#outcomes + 1] = outcome
    if outcome == '1' then created = created + 1 end
  end
  sequence = sequence + group.count
  return created
end

-- Enters all header batches, n operations. Returns an outcome for each operation: 1 created, 0 one with this id exists,
-- or the outcome of `enter_linked`, which is needed where operations may be linked.
local function enter_new(groups, n, enter_linked)
  -- An adding command comes first, so Redis refuses the call as a whole when its memory is full.
  sequence = call('HINCRBY', META, 'sequence', format('%d', n)) - n
  local created = 0
  for _, group in ipairs(groups) do
    created = created + (is_linked(group.front) and enter_linked_group(group, enter_linked) or enter_group(group))
  end
  -- The number of enqueued operations is the sequence less `notEnqueued`.
  add('notEnqueued', n - created)
  write_places()
  return concat(outcomes)
end
