-- An operation enters the queue: its lane if it is ready, or a set if it waits for a time. Each operation is in its
-- place at once, so a later error in the call loses none. Operations that can start are announced once, at the end.
-- include: write_record
-- include: events
-- include: wake
-- include: limit_keys
-- include: extras
local is_startable, earliest

local function announce()
  if is_startable then wake_for_ready() end
  if earliest then announce_due(earliest) end
  is_startable, earliest = nil, nil
end

-- Cancels the announcement, because the claim of this call has taken care of it. The claim took the operations or woke
-- a worker for more, or a worker is woken when a limit or a pause ends.
local function forget_startable() is_startable = nil end

-- Notes that an operation can start now, or at `instant`.
local function note_startable(instant)
  if not is_startable and not earliest then at_end[#at_end + 1] = announce end
  if instant then earliest = min(earliest or instant, instant) else is_startable = true end
end

local function list_in(lists, key)
  local list = lists[key]
  if not list then
    list = {}
    lists[key] = list
  end
  return list
end

-- Adds an operation to the tail of its lane, or to the set of its limit key.
local function enter_ready(id, header)
  if has_limit_key(header) and limits_of_keys().enter(id, header) then return end
  call('RPUSH', PREFIX .. 'lane:' .. lane_of(header), header)
  note_startable()
end

-- Adds many elements to the tails of the lanes, a list for each lane. Announces nothing.
local function enter_lanes(lanes)
  for lane, elements in pairs(lanes) do call('RPUSH', PREFIX .. 'lane:' .. lane, unpack(elements)) end
end

-- Makes an operation expire if it has not started at its deadline.
local function expire_at(id, deadline)
  call('ZADD', PREFIX .. 'expiring', format('%d', deadline), id)
  note_startable(deadline)
end

-- Adds an operation to the tail of its lane, without the times of its last run.
local function enter_tail(id, header)
  write_head(record_key(id), 'r' .. NOT_STARTED, header)
  enter_ready(id, header)
  event(id, 'r', true)
end

-- Keeps an operation in its set, with another header.
local function stay_waiting(id, state, header) write_head(record_key(id), state, header) end

-- Moves an operation to the tail of its lane, ready as before.
local function enter_lane(id, header)
  write_head(record_key(id), 'r', header)
  enter_ready(id, header)
end

-- Adds an operation to the head of its lane, or among those of its limit key by enqueue order. Only the delivery
-- changes. `expires`: its deadline counts again.
local function enter_head(element, delivery, expires)
  local id, envelope = id_of(element), ''
  local header = changed_header(element, nil, nil, delivery, nil, not expires and ZERO9 or nil)
  if is_reference(element) then
    write_head(record_key(id), 'r', header)
    if deadline_of(header) then expire_at(id, deadline_of(header)) end
  else
    envelope = envelope_of(element)
  end
  event(id, 'r', true)
  if has_limit_key(header) and limits_of_keys().enter(id, header) then return end
  call('LPUSH', PREFIX .. 'lane:' .. lane_of(header), header .. envelope)
  note_startable()
end

-- Makes an operation wait until `due`, in ms: scheduled (s) or retrying (t). A nil argument keeps the field.
local function enter_set(id, head, state, due, failures, delivery, deadline)
  write_head(record_key(id), state, changed_header(head, nil, failures, delivery, time36(due), deadline))
  call('ZADD', PREFIX .. (state == 's' and 'scheduled' or 'retrying'), format('%d', due), id)
  event(id, state, true)
  note_startable(due)
end

-- Makes an operation wait until `due`, in ms, without the times of its last run.
local function enter_later(id, header, due)
  write_head(record_key(id), 's' .. NOT_STARTED, header)
  call('ZADD', PREFIX .. 'scheduled', format('%d', due), id)
  event(id, 's', true)
  note_startable(due)
end

-- Blocks an operation until an operator releases it. `from`: the letter of its state before. The new revision makes a
-- reference that stays in its lane stale.
local function enter_blocked(id, head, from, by, reason)
  write_head(record_key(id), 'b', changed_header(head, next_revision(head)))
  call('ZADD', PREFIX .. 'blocked', NOW, id)
  keep_hold(id, by, reason, from)
  if deadline_of(head) then expire_at(id, deadline_of(head)) end
  event(id, 'b', true)
end

-- Blocks an operation again, until its dependencies have ended.
local function enter_needing(id, header)
  write_head(record_key(id), 'b' .. NOT_STARTED, header)
  call('ZADD', PREFIX .. 'blocked', NOW, id)
  event(id, 'b', true)
end

-- Adds operations that were due and have left their set to the tails of the lanes. The header has the instant for which
-- the operation waited, so the header becomes the reference unchanged. Operations in another state are skipped. The set
-- orders operations of one instant by id; a lane gets them, at most PROMOTE_LIMIT, in enqueue order.
local function enter_due(ids, state)
  local lanes, last, is_mixed = {}, '', false
  for i = 1, #ids do
    local key = record_key(ids[i])
    local header, stored = read_header(key)
    if stored == state then
      write_head(key, 'r')
      if not (has_limit_key(header) and limits_of_keys().enter(ids[i], header)) then
        local lane = list_in(lanes, lane_of(header))
        lane[#lane + 1] = header
        local place = due_place_of(header)
        is_mixed = is_mixed or place < last
        last = place
      end
      event_of(header, 'r', true)
    end
  end
  if is_mixed then
    for _, lane in pairs(lanes) do table.sort(lane, function(a, b) return due_place_of(a) < due_place_of(b) end) end
  end
  enter_lanes(lanes)
end
