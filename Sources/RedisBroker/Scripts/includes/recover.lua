-- Hands back what a worker held that is no more.
local recovered, dead, cancelled, ready, earliest = 0, 0, 0, false, nil

-- include: fences
-- include: losses

local function lost_error(head, delivery)
  return format('%d {"attempt":%d,"delivery":%d,"message":"the worker was lost %d times while it ran this attempt","type":"lost"}',
    now, tonumber(sub(head, 5, 7)) + 1, delivery, delivery)
end

-- The last delivery. One of those that were lost together may be what kills workers, so they do not go together again: each
-- waits for a time of its own, which follows from its id.
local function put_off(element, delivery)
  local id = sub(element, 39, 64)
  local head = head_for(element, 'x')
  if not head then return 0 end
  -- Multiplied, so that ids which count upwards are spread too.
  local due = now + tonumber(sub(id, 23, 26), 36) * 7919 % LAST_DELIVERY_SPREAD_MS
  call('SETRANGE', record_key(id), 7, format('%02d', delivery) .. time36(due) .. ZERO9 .. sub(head, 28, 64) .. 's')
  call('ZADD', PREFIX .. 'scheduled', due, id)
  earliest = min(earliest or due, due)
  event(id, 's', true)
  return 1
end

-- The attempt is used up; three digits is what the header has for them.
local function one_more_failed(head) return format('%03d', min(999, tonumber(sub(head, 5, 7)) + 1)) end

local function recover(worker, fence)
  local element, order = release(worker, format('%d', fence))
  local id, delivery = sub(element, 39, 64), tonumber(sub(element, 8, 9))
  local tracked = is_reference(element)
  if tracked then
    if not head_of(id) then return end
    -- The lost run's fence goes: a late write under it is stale, not a repeat.
    call('SETRANGE', record_key(id), 83, '00000000000')
  end
  if is_cancelled(fence, order) then
    local head = head_for(element, 'x')
    if not head then return end
    cancel_released(element, head, order, one_more_failed(head))
    cancelled = cancelled + 1
  elseif delivery >= MAX_DELIVERIES then
    local head = head_for(element, 'x')
    if not head then return end
    keep_error(id, lost_error(head, delivery))
    end_record(id, head, 'd', one_more_failed(head))
    dead = dead + 1
  elseif delivery + 1 == MAX_DELIVERIES then
    recovered = recovered + put_off(element, delivery + 1)
  else
    put_back(element, tracked, format('%02d', delivery + 1), false)
    recovered, ready = recovered + 1, true
  end
end

-- How many of the oldest one call hands back: of untracked ones each has up to 1 MiB.
local function count_within_limits(worker, fences)
  local bytes, most = 0, min(#fences, SWEEP_LIMIT)
  for i = 1, most do
    bytes = bytes + call('HSTRLEN', PREFIX .. 'inflight:' .. worker, format('%d', fences[i]))
    if bytes > REPLY_BYTES then return max(1, i - 1) end
  end
  return most
end

-- The oldest first; its lease goes with the last of them.
local function recover_all(worker)
  local fences = oldest_fences(worker)
  local count = count_within_limits(worker, fences)
  call('HSET', PREFIX .. 'worker:' .. worker, 'swept', '1')
  call('PEXPIRE', PREFIX .. 'worker:' .. worker, 3600000)
  for i = count, 1, -1 do recover(worker, fences[i]) end
  keep_lost(worker, recovered, dead, cancelled)
  if count == #fences then
    call('ZREM', PREFIX .. 'leases', worker)
    call('DEL', PREFIX .. 'cancelling:' .. worker)
    forget_number(worker)
    drop_watch(worker)
  end
  if ready then ring() end
  if earliest then announce_due(earliest) end
  add('recovered', recovered)
end
