-- A forced cancel: a running operation leaves its worker and ends at once, whether or not the worker answers. The fence
-- is void, so nothing that the body still writes is stored. The request stays under the old fence, behind a '!' and the
-- id, until the worker reports that the body has stopped.
-- include: leave_inflight
-- include: finish_cancelled
-- include: cancel_request
-- include: stopping
-- include: extras

local function note_forced(worker, fence, id, trace)
  keep_forced_cancel(id, trace, fence, worker)
  call('HSET', PREFIX .. 'cancelling:' .. worker, fence, '!' .. id .. ' ' .. trace)
  pcall('PUBLISH', CHANNELS .. 'control:' .. worker, 'cancel ' .. fence)
end

-- `fence` is text; `trace` is "instant by reason". Returns whether the worker held the operation.
local function force_cancel(worker, fence, id, trace)
  local element, request = leave_forced(worker, fence, id)
  if not element then return false end
  local head = head_for(element)
  if not head then return true end
  if not is_cancelled(fence, request) then request = trace end
  finish_cancelled(id, head, request, one_more_failed(head))
  if is_linked(head) then keep_key(id, worker) end
  note_forced(worker, fence, id, trace)
  return true
end
