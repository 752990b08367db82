-- Cancels one operation that has a record.
-- include: finish
-- include: cancel_waiting
-- include: cancel_request
-- include: extras

-- Asks a running operation to end.
local function cancel_executing_one(id, head, worker, by, reason)
  if not has_cancel(id) then keep_cancel(id, NOW, by, reason) end
  request_cancel(worker, format('%d', fence_of(head)), NOW .. ' ' .. by .. ' ' .. reason)
end
