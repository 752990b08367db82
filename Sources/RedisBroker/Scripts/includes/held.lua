-- Operations that a worker holds: taking one out of its in-flight hash is the proof that the caller still owns it.

-- Removes the fence. Returns the element and whether its cancel is requested; nil = the fence is stale, or of another id.
local function release(worker, fence, id)
  local inflight = PREFIX .. 'inflight:' .. worker
  local element = call('HGET', inflight, fence)
  if not element or (id and sub(element, 39, 64) ~= id) then return nil end
  call('HDEL', inflight, fence)
  -- It may come back, into a queue that has forgotten how large it is.
  note_large(is_reference(element) and call('STRLEN', record_key(sub(element, 39, 64))) - HEAD + #element or #element)
  local order = call('HGET', PREFIX .. 'cancelling:' .. worker, fence)
  if order then call('HDEL', PREFIX .. 'cancelling:' .. worker, fence) end
  add('executing', -1)
  return element, order
end

local cancelled_fence
local function is_cancelled(fence, order)
  if order then return true end
  if not cancelled_fence then cancelled_fence = tonumber(call('HGET', META, 'cancelledFence') or 0) end
  return tonumber(fence) <= cancelled_fence
end

-- The record's head of a released element. An untracked one gets its record here; nil = a tracked one was erased, or
-- the id of an untracked one belongs to another record.
local function head_for(element, state)
  if not is_reference(element) then return adopt(element, state) end
  return head_of(sub(element, 39, 64))
end

-- The errors stay with the operation until it is erased, which looks for them where there are extras.
local function keep_error(id, error)
  local key = errors_key(id)
  call('RPUSH', key, error)
  call('LTRIM', key, -ERRORS_KEPT, -1)
  call('HSETNX', extras_key(id), 'hasErrors', '1')
end

-- Who cancelled the whole queue, for the record of one operation.
local function note_cancel(id, order)
  local key = extras_key(id)
  if call('HEXISTS', key, 'cancelAt') == 1 then return end
  local trace = order or call('HGET', META, 'cancelTrace')
  local at, by, reason = string.match(trace or '', '^(%d+) (%S*) ?(.*)$')
  if at then call('HSET', key, 'cancelAt', at, 'cancelBy', by, 'cancelReason', reason) end
end

-- Ends a released operation as cancelled.
local function cancel_released(element, head, order, failed)
  local id = sub(element, 39, 64)
  note_cancel(id, order)
  end_record(id, head, 'c', failed)
end

-- Hands a released element back to the head of its lane, as it was but for its delivery. `expires` is dropped after a start.
local function put_back(element, head, delivery, keeps_expiry)
  local expires = keeps_expiry and sub(element, 19, 27) or ZERO9
  local header = sub(element, 1, 7) .. delivery .. sub(element, 10, 18) .. expires .. sub(element, 28, 64)
  local rest = ''
  if head then
    call('SETRANGE', record_key(sub(element, 39, 64)), 0, header .. 'r')
  else
    rest = sub(element, 65)
  end
  call('LPUSH', PREFIX .. 'lane:' .. sub(element, 3, 3), header .. rest)
  event(sub(element, 39, 64), 'r', true)
end
