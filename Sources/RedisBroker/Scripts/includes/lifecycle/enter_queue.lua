-- An operation enters the queue: its lane, where it is ready, or the set of what waits for a time. Each is in its place at once, so an error
-- later in the call loses none; what can start is announced once, at the end.
-- include: write_record
-- include: events
-- include: wake
local is_startable, earliest

local function announce()
  if is_startable then wake() end
  if earliest then announce_due(earliest) end
end

-- Something can start now, or at an instant.
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

-- Many at once, a list for each lane, to the tails of the lanes. Announces nothing.
local function enter_lanes(lanes)
  for lane, elements in pairs(lanes) do call('RPUSH', PREFIX .. 'lane:' .. lane, unpack(elements)) end
end

-- It ends if it has not started at its deadline.
local function expire_at(id, deadline)
  call('ZADD', PREFIX .. 'expiring', format('%d', deadline), id)
  note_startable(deadline)
end

-- Behind the others of its lane, with nothing left of its last run.
local function enter_tail(id, header)
  write_head(record_key(id), 'r' .. NOT_STARTED, header)
  call('RPUSH', PREFIX .. 'lane:' .. lane_of(header), header)
  event(id, 'r', true)
  note_startable()
end

-- Before the others of its lane, as it was but for its delivery. `expires`: its deadline counts again.
local function enter_head(element, delivery, expires)
  local id, envelope = id_of(element), ''
  local header = changed_header(element, nil, nil, delivery, nil, not expires and ZERO9 or nil)
  if is_reference(element) then
    write_head(record_key(id), 'r', header)
    if deadline_of(header) then expire_at(id, deadline_of(header)) end
  else
    envelope = envelope_of(element)
  end
  call('LPUSH', PREFIX .. 'lane:' .. lane_of(header), header .. envelope)
  event(id, 'r', true)
  note_startable()
end

-- Until `due`: scheduled (s) or retrying (t). nil = as it was.
local function enter_set(id, head, state, due, failures, delivery, deadline)
  write_head(record_key(id), state, changed_header(head, nil, failures, delivery, time36(due), deadline))
  call('ZADD', PREFIX .. (state == 's' and 'scheduled' or 'retrying'), format('%d', due), id)
  event(id, state, true)
  note_startable(due)
end

-- What was due and has left its set goes to the tails of the lanes. Its header says the instant for which it waited, so it becomes the
-- reference as it is: ready since then. What is in another state by now does not.
local function enter_due(ids, state)
  local lanes = {}
  for i = 1, #ids do
    local key = record_key(ids[i])
    local header, stored = read_header(key)
    if stored == state then
      write_head(key, 'r')
      local lane = list_in(lanes, lane_of(header))
      lane[#lane + 1] = header
      event_of(header, 'r', true)
    end
  end
  enter_lanes(lanes)
end
