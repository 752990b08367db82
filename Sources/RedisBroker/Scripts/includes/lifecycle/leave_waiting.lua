-- A waiting operation leaves the place where it waits.
-- include: record
-- include: unhandled
-- include: limit_keys

-- Pops at most n elements from the head of a lane.
local function pop_lane(lane, n) return call('LPOP', PREFIX .. 'lane:' .. lane, format('%d', n)) end

-- Takes the due ids out of a set by time, at most `limit`.
local function pop_due(set, limit)
  local key = PREFIX .. set
  local ids = call('ZRANGEBYSCORE', key, '-inf', NOW, 'LIMIT', '0', format('%d', limit))
  if #ids > 0 then call('ZREMRANGEBYRANK', key, '0', format('%d', #ids - 1)) end
  return ids
end

-- Removes the deadline of an operation that starts or ends.
local function leave_expiring(id, header)
  if deadline_of(header) then call('ZREM', PREFIX .. 'expiring', id) end
end

-- Takes out a waiting operation, which ends or enters the queue again. A lane keeps its reference, which is stale from
-- now on.
local function leave_waiting(id, head)
  local state = stored_state_of(head)
  if state == 'r' then
    if not (has_limit_key(head) and limits_of_keys().leave(id)) then add('stale', 1) end
  elseif state == 'u' then
    leave_unhandled(id, head)
  elseif state == 's' then
    call('ZREM', PREFIX .. 'scheduled', id)
  elseif state == 't' then
    call('ZREM', PREFIX .. 'retrying', id)
  elseif state == 'b' then
    call('ZREM', PREFIX .. 'blocked', id)
  end
  leave_expiring(id, head)
end

-- Takes an ended operation out of its set: it is removed, or enters the queue again. An operation that a cancelled
-- batch still holds is in no such set.
local function leave_ended(id, head, state)
  if stored_state_of(head) ~= state then add('clearing', -1) else call('ZREM', PREFIX .. 'ended:' .. state, id) end
end
