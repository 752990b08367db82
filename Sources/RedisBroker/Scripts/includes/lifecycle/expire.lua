-- An operation that waits beyond its deadline is ended by the first call that meets it: a claim, a sweep, an enqueue that needs its unique key, a change.
-- include: leave_waiting
-- include: finish
-- include: limit_keys

-- Returns the state in which it has waited; nil = it did not.
local function expire(id, head)
  local state = stored_state_of(head)
  if not find('rsub', state, 1, true) then return nil end
  leave_waiting(id, head)
  finish_waiting(id, head, 'e')
  return state
end

-- The head of an operation's record, which says so if its deadline has passed while it waited.
local function head_in_time(id)
  local head = head_of(id)
  local deadline = head and deadline_of(head)
  if not deadline or deadline > now or not find('rsb', state_of(head), 1, true) then return head end
  expire(id, head)
  return head_of(id)
end

-- At most `limit` of those that are due, and limit keys whose next start is back. Returns how many, and whether one of them was scheduled.
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
