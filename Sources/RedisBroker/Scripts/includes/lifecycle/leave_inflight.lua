-- An operation leaves the worker that runs it. The removal from the in-flight hash proves that the caller still owned
-- it.
-- include: write_record
-- include: size
-- include: room
-- include: limit_keys
-- include: group_rules

-- Removes the fence. Returns the element and its cancel request; nil = the fence is stale, or belongs to another id.
local function leave_inflight(worker, fence, id)
  local inflight = PREFIX .. 'inflight:' .. worker
  local element = call('HGET', inflight, fence)
  if not element or (id and id_of(element) ~= id) then return nil end
  call('HDEL', inflight, fence)
  note_leaving()
  if has_limit_key(element) then limits_of_keys().stop(id_of(element)) end
  local group = is_linked(element) and call('HGET', extras_key(id_of(element)), 'runGroup')
  if group then group_rules().end_run(id_of(element), group, false) end
  -- The operation may come back into a queue that no longer knows its size.
  note_large(is_reference(element) and bytes_of_record(id_of(element)) or #element)
  local request = call('HGET', PREFIX .. 'cancelling:' .. worker, fence)
  if request then call('HDEL', PREFIX .. 'cancelling:' .. worker, fence) end
  add('executing', -1)
  return element, request
end

-- Returns the record's head of an element that has left. An untracked operation gets its record here, with the fence if
-- one is given. nil = a tracked operation was erased, or the id of an untracked one belongs to another record.
local function head_for(element, fence)
  local id = id_of(element)
  if is_reference(element) then return head_of(id) end
  local head = adopt(element, 'x')
  if not head or not fence then return head end
  write_head(record_key(id), 'x' .. ZERO9 .. NOW36 .. format('%011x', fence))
  return head_of(id)
end

-- Takes an operation from a lost worker, and clears the fence of its run: a late write is then stale, and not a repeat.
-- Returns the element, its cancel request, and the head of its record as it was (false = no record). nil = the record
-- of a tracked operation was erased.
local function leave_lost_worker(worker, fence)
  local element, request = leave_inflight(worker, format('%d', fence))
  local head = is_reference(element) and head_of(id_of(element))
  if head == nil then return nil end
  if head then forget_fence(id_of(element)) end
  return element, request, head
end

-- Takes an operation from a worker that still runs it: later writes of that run are stale. After an untracked
-- operation, completions of this worker check each fence, as after a sweep.
local function leave_forced(worker, fence, id)
  local element, request = leave_inflight(worker, fence, id)
  if not element then return nil end
  if not is_reference(element) then
    call('HSET', PREFIX .. 'worker:' .. worker, 'swept', '1')
  elseif head_of(id) then
    forget_fence(id)
  end
  return element, request
end
