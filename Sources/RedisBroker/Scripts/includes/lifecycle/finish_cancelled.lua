-- include: finish
-- include: cancel_request

-- Ends an operation as cancelled after it has left its worker.
local function finish_cancelled(id, head, request, failures)
  note_cancel(id, request)
  finish(id, head, 'c', failures)
end
