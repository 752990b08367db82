-- A new linked operation enters the queue: what links it to others is decided first. `links`: see links_of.
-- include: enter_new
-- include: claim_key

-- Until its turn at a unique key comes.
local function enter_turn(id, header, links, envelope)
  create_record(record_key(id), new_record(header, 'b', NOW36, envelope))
  call('ZADD', PREFIX .. 'blocked', NOW, id)
  call('ZADD', behind_key(links.unique), format('%d', sequence_of(header)), id)
  call('HSET', extras_key(id), 'turn', '1')
  event(id, 'b', false)
end

local function enter_place(id, header, due, envelope)
  create_record(record_key(id), new_record(header, due and 's' or 'r', NOW36, envelope))
  if due then
    call('ZADD', PREFIX .. 'scheduled', format('%d', due), id)
    note_startable(due)
  else
    enter_ready(id, header)
  end
  event(id, due and 's' or 'r', false)
end

-- Returns an outcome, and who has its unique key: 1 created, 0 one with this id exists, u another one has its key, m too many wait for the key.
local function enter_linked(front, number, links, operation)
  local id = sent_id_of(operation)
  if call('EXISTS', record_key(id)) == 1 then return '0' end
  local place, other = 'start', nil
  if links.unique then place, other = claim_key(links.unique, links.ifExists, id) end
  if place == 'taken' then return 'u', other end
  if place == 'many' then return 'm' end
  local due, deadline = due_of(front), expiry_of(front)
  local header = stamped(front, due, deadline) .. format('%011x', number) .. id
  if links.unique then call('HSET', extras_key(id), 'unique', links.unique) end
  if links.freshFor then call('HSET', extras_key(id), 'freshFor', links.freshFor) end
  if links.limitKey then call('HSET', extras_key(id), 'limitKey', links.limitKey) end
  if place == 'wait' then
    enter_turn(id, header, links, sent_envelope_of(operation))
  else
    enter_place(id, header, due, sent_envelope_of(operation))
  end
  if deadline then expire_at(id, deadline) end
  return '1'
end
