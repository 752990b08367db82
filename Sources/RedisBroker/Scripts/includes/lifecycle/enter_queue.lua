-- An operation enters the queue: its lane, where it is ready, or the set of what waits for a time. What enters one by one is gathered, and
-- written together at the end.
-- include: write_record
-- include: events
-- include: wake
local function list_in(lists, key)
  local list = lists[key]
  if not list then
    list = {}
    lists[key] = list
  end
  return list
end

local function push(command, lanes)
  for lane, elements in pairs(lanes) do call(command, PREFIX .. 'lane:' .. lane, unpack(elements)) end
end

-- Many at once, a list for each lane, to the tails of the lanes. Wakes no worker.
local function enter_lanes(lanes) push('RPUSH', lanes) end

-- What the call gathers; nil = nothing yet.
local gathered, earliest

local function write_places()
  push('LPUSH', gathered.heads)
  push('RPUSH', gathered.tails)
  for set, entries in pairs(gathered.sets) do call('ZADD', PREFIX .. set, unpack(entries)) end
  if next(gathered.heads) or next(gathered.tails) then wake() end
  if earliest then announce_due(earliest) end
end

local function places()
  if not gathered then
    gathered = { heads = {}, tails = {}, sets = {} }
    at_end[#at_end + 1] = write_places
  end
  return gathered
end

-- Notes that an operation is in a set (scheduled, retrying, expiring) at an instant.
local function note_time(set, instant, id)
  local list = list_in(places().sets, set)
  list[#list + 1] = format('%d', instant)
  list[#list + 1] = id
  earliest = min(earliest or instant, instant)
end

-- Ready again, at the heads or tails. `envelope`: of an untracked one.
local function enter_lane(lists, header, envelope)
  local list = list_in(lists, lane_of(header))
  list[#list + 1] = header .. (envelope or '')
  event(id_of(header), 'r', true)
end

-- Behind the others of its lane, with nothing left of its last run.
local function enter_tail(id, header)
  write_head(record_key(id), 'r' .. NOT_STARTED, header)
  enter_lane(places().tails, header)
end

-- Before the others of its lane, as it was but for its delivery. `expires`: its deadline counts again.
local function enter_head(element, delivery, expires)
  local id, heads = id_of(element), places().heads
  local header = changed_header(element, nil, nil, delivery, nil, not expires and ZERO9 or nil)
  if not is_reference(element) then return enter_lane(heads, header, envelope_of(element)) end
  write_head(record_key(id), 'r', header)
  enter_lane(heads, header)
  if deadline_of(header) then note_time('expiring', deadline_of(header), id) end
end

-- Until `due`: scheduled (s) or retrying (t). nil = as it was.
local function enter_set(id, head, state, due, failures, delivery, deadline)
  write_head(record_key(id), state, changed_header(head, nil, failures, delivery, time36(due), deadline))
  note_time(state == 's' and 'scheduled' or 'retrying', due, id)
  event(id, state, true)
end
