-- Recovers the operations of a lost worker.
-- include: limits
-- include: enter_queue
-- include: leave_inflight
-- include: finish_cancelled
-- include: keep_error
-- include: recoveries
-- include: fences
-- include: losses
-- include: numbers
-- include: stopping
local recovered, dead, cancelled, ids = 0, 0, 0, {}

local function lost_error(head, delivery)
  return format('%d {"attempt":%d,"delivery":%d,"message":"this attempt lost its worker %d times, the most allowed: check for crashes and memory limits","type":"lost"}',
    now, tonumber(failures_of(head)) + 1, delivery, delivery)
end

-- Delays an operation before its last delivery. One of the operations that were lost together may crash workers, so
-- these operations do not start together again: each waits for a delay that is derived from its id.
local function put_off(element, delivery)
  local head = head_for(element)
  if not head then return 0 end
  local id = id_of(head)
  -- The factor also spreads sequential ids.
  local due = now + tonumber(string.match(id, '....$'), 36) * 7919 % LAST_DELIVERY_SPREAD_MS
  enter_set(id, head, 's', due, nil, delivery, ZERO9)
  return 1
end

local function recover(worker, fence, recovery)
  local element, request, before = leave_lost_worker(worker, fence)
  if not element then return end
  local id, delivery = id_of(element), delivery_of(element)
  ids[#ids + 1] = id
  if before then keep_recovery(id, before, recovery) end
  if is_cancelled(fence, request) then
    local head = head_for(element)
    if not head then return end
    finish_cancelled(id, head, request, one_more_failed(head))
    cancelled = cancelled + 1
  elseif delivery >= MAX_DELIVERIES then
    local head = head_for(element)
    if not head then return end
    keep_error(id, lost_error(head, delivery))
    finish(id, head, 'd', one_more_failed(head))
    dead = dead + 1
  elseif delivery + 1 == MAX_DELIVERIES then
    recovered = recovered + put_off(element, delivery + 1)
  else
    enter_head(element, delivery + 1, false)
    recovered = recovered + 1
  end
end

-- Returns how many of the oldest operations one call recovers: an untracked one has up to 1 MiB.
local function count_within_limits(worker, fences)
  local bytes, most = 0, min(#fences, SWEEP_LIMIT)
  for i = 1, most do
    bytes = bytes + call('HSTRLEN', PREFIX .. 'inflight:' .. worker, format('%d', fences[i]))
    if bytes > REPLY_BYTES then return max(1, i - 1) end
  end
  return most
end

-- Recovers the oldest operations of a worker, and removes its lease with the last of them. `cause`: why the worker
-- counts as lost, as stored in the operations.
local function recover_all(worker, cause)
  local fences = oldest_fences(worker)
  local count = count_within_limits(worker, fences)
  call('HSET', PREFIX .. 'worker:' .. worker, 'swept', '1')
  call('PEXPIRE', PREFIX .. 'worker:' .. worker, 3600000)
  local recovery = new_recovery(worker, cause)
  for i = count, 1, -1 do recover(worker, fences[i], recovery) end
  if #ids > 0 then note_change('recover', worker, #ids, recovery_sentence(recovery), ids[1]) end
  keep_lost(worker, recovered, dead, cancelled, ids)
  if count == #fences then
    call('ZREM', PREFIX .. 'leases', worker)
    free_stopped_keys(worker)
    call('DEL', PREFIX .. 'cancelling:' .. worker)
    forget_number(worker)
    drop_timer(worker)
  end
  add('recovered', recovered)
end
