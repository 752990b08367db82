-- include: finish
-- include: cancel_request

-- Ends as cancelled what has left its worker.
local function finish_cancelled(id, head, request, failures)
  note_cancel(id, request)
  finish(id, head, 'c', failures)
end
