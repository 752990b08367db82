-- An operation becomes linked while it waits or runs, or after its end.
-- include: write_record
-- include: linked_header

-- Marks the worker's element as well, because a completion reads nothing else.
local function set_linked(id, head)
  if is_linked(head) then return end
  mark_linked(id)
  local worker = stored_state_of(head) == 'x' and worker_of(head)
  if not worker then return end
  local inflight, fence = PREFIX .. 'inflight:' .. worker, format('%d', fence_of(head))
  local element = call('HGET', inflight, fence)
  if element then call('HSET', inflight, fence, linked_header(element)) end
end
