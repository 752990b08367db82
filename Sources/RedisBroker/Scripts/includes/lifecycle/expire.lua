-- Ends an operation that waits beyond its deadline. The first call that meets it does so: a claim, a sweep, an enqueue
-- that needs its unique key, or a change.
-- include: leave_waiting
-- include: finish
-- include: limit_keys

-- Ends an operation as expired. Returns the state in which it waited; nil = it did not wait.
local function expire(id, head)
  local state = stored_state_of(head)
  if not find('rsub', state, 1, true) then return nil end
  leave_waiting(id, head)
  finish_waiting(id, head, 'e')
  return state
end

-- Returns the head of an operation's record. First ends the operation if its deadline has passed while it waited.
local function head_in_time(id)
  local head = head_of(id)
  local deadline = head and deadline_of(head)
  if not deadline or deadline > now or not find('rsb', state_of(head), 1, true) then return head end
  expire(id, head)
  return head_of(id)
end

-- Ends at most `limit` due operations, and gives a turn to limit keys whose next start is back. Returns how many
-- entries were due, and whether an ended operation was scheduled.
local function expire_due(limit)
  local members, was_scheduled = pop_due('expiring', limit), false
  for i = 1, #members do
    local key = string.match(members[i], '^%*(.+)$')
    if key then limits_of_keys().touch(key) end
    local head = not key and head_of(members[i])
    if head and expire(members[i], head) == 's' then was_scheduled = true end
  end
  return #members, was_scheduled
end
