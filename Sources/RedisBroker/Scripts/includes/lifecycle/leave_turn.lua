-- include: enter_queue

-- The turn of what is blocked has come: it is ready, or scheduled if its time is to come. Its deadline counts as before.
local function leave_turn(id)
  local head = head_of(id)
  call('ZREM', PREFIX .. 'blocked', id)
  call('HDEL', extras_key(id), 'turn')
  if ready_at_of(head) > now then
    enter_set(id, head, 's', ready_at_of(head))
  else
    enter_tail(id, changed_header(head, nil, nil, nil, NOW36))
  end
end
