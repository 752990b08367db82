-- Cancels one operation that has a record.
-- include: finish
-- include: cancel_waiting
-- include: cancel_request

-- Asks a running operation to end.
local function cancel_executing_one(id, head, worker, by, reason)
  if call('HEXISTS', extras_key(id), 'cancelAt') == 0 then note_requester(id, by, reason) end
  request_cancel(worker, format('%d', fence_of(head)), NOW .. ' ' .. by .. ' ' .. reason)
end
