-- A condition that a blocked operation waits for is met.
-- include: enter_queue
-- include: group_rules

-- Makes an operation ready if that was the last condition, or scheduled if its time is still to come. The deadline
-- counts as before.
local function leave_blocked(id)
  local head = head_of(id)
  if not head or state_of(head) ~= 'b' then return end
  local others = call('HMGET', extras_key(id), 'turn', 'heldAt', 'unmet', 'group')
  if others[1] or others[2] or tonumber(others[3] or 0) > 0 then return end
  if others[4] then return group_rules().end_group(id, head) end
  call('ZREM', PREFIX .. 'blocked', id)
  if ready_at_of(head) > now then
    enter_set(id, head, 's', ready_at_of(head))
  else
    enter_tail(id, changed_header(head, nil, nil, nil, NOW36))
  end
end
later.leave_blocked = leave_blocked
