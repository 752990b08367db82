-- The cancel of one operation that has a record.
-- include: finish
-- include: leave_waiting
-- include: cancel_request

local function note_requester(id, by, reason)
  call('HSET', extras_key(id), 'cancelAt', NOW, 'cancelBy', by, 'cancelReason', reason)
end

-- What waits ends at once.
local function cancel_waiting_one(id, head, by, reason)
  leave_waiting(id, head)
  note_requester(id, by, reason)
  finish_waiting(id, head, 'c')
end

-- What runs is asked to end.
local function cancel_executing_one(id, head, worker, by, reason)
  if call('HEXISTS', extras_key(id), 'cancelAt') == 0 then note_requester(id, by, reason) end
  request_cancel(worker, format('%d', fence_of(head)), NOW .. ' ' .. by .. ' ' .. reason)
end
