-- A new linked operation enters the queue, after its links are decided. `links`: see links_of().
-- include: enter_new
-- include: claim_key
-- include: add_needs
-- include: members

local function create(id, header, state, links, envelope)
  create_record(record_key(id), new_record(header, state, NOW36, envelope))
  local extras = extras_key(id)
  if links.unique then call('HSET', extras, 'unique', links.unique) end
  if links.freshFor then call('HSET', extras, 'freshFor', links.freshFor) end
  if links.limitKey then call('HSET', extras, 'limitKey', links.limitKey) end
  if links.tell then call('HSET', extras, 'dependentQueues', concat(links.tell, ' ')) end
end

-- Blocks the operation until its turn at a unique key has come and its dependencies have ended.
local function enter_waiting(id, header, links, place)
  call('ZADD', PREFIX .. 'blocked', NOW, id)
  if place == 'wait' then
    call('ZADD', behind_key(links.unique), format('%d', sequence_of(header)), id)
    call('HSET', extras_key(id), 'turn', '1')
  end
  event(id, 'b', false)
end

local function enter_place(id, header, due)
  if due then
    call('ZADD', PREFIX .. 'scheduled', format('%d', due), id)
    note_startable(due)
  else
    enter_ready(id, header)
  end
  event(id, due and 's' or 'r', false)
end

-- Returns an outcome, and the id that it is about: 1 created, 0 an operation with this id exists, n a dependency is
-- unknown, u another operation has its unique key, m too many wait for the key, g a group takes no more members or has
-- ended, x a run has ended.
local function enter_linked(front, number, links, operation)
  local id = sent_id_of(operation)
  if call('EXISTS', record_key(id)) == 1 then return '0' end
  local needs, unknown = read_needs(links.after or {})
  if not needs then return 'n', unknown end
  local closed = links.member and group_members().first_without_room(links.member) or needs.needless
  if closed then return 'g', closed end
  if links.run then
    local is_held, known = group_members().holds_run(links.run)
    if known then return 'u', known end
    if not is_held then return 'x' end
  end
  local place, other = 'start', nil
  -- An operation that is cancelled at once supersedes no other.
  if links.unique and (yields(links.ifExists) or not needs.failed) then
    place, other = claim_key(links.unique, links.ifExists, id)
    -- claim_key() may have cancelled a dependency of this operation.
    if #needs > 0 then needs = read_needs(links.after) end
  end
  if place == 'taken' then return 'u', other end
  if place == 'many' then return 'm' end
  local due, deadline = due_of(front), expiry_of(front)
  local header = stamped(front, due, deadline) .. format('%011x', number) .. id
  local waits = place == 'wait' or needs.unmet > 0 or links.open or links.group or links.run
  create(id, header, waits and 'b' or due and 's' or 'r', links, sent_envelope_of(operation))
  if waits then enter_waiting(id, header, links, place) else enter_place(id, header, due) end
  if deadline then expire_at(id, deadline) end
  if links.open or links.group or links.run then leave_open(id) end
  if links.group then group_members().open(id, links.group) end
  if links.run then group_members().open_run(id, links.run) end
  for i = 1, links.member and #links.member or 0 do group_members().enter(id, header, links.member[i]) end
  if #needs > 0 then add_needs(id, needs) end
  return '1'
end
