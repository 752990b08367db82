-- The claim, as claim.lua and complete.lua share it.

-- Reads what decides whether this worker may claim. Returns a refusal or nil, and the queue's settings.
local function refusal(worker, epoch)
  local m = call('HMGET', META, 'paused', 'pausedUntil', 'leaseFloor', 'intents', 'watcher', 'next')
  local lease = call('ZSCORE', PREFIX .. 'leases', worker)
  if not lease or (tonumber(lease) < now and tonumber(m[3] or 0) < now) then return 'noLease', m end
  if tonumber(call('HGET', PREFIX .. 'worker:' .. worker, 'epoch') or 0) > epoch then return 'staleEpoch', m end
  if m[1] == '1' then
    if not m[2] or tonumber(m[2]) > now then return 'paused', m end
    call('HDEL', META, 'paused', 'pausedUntil')
  end
  return nil, m
end

-- The lane to take from, and how many at most. Effective priority: rank, and one more for each 30 s that the head has waited.
local function choose(heads, wanted, capacity)
  local best, best_value, best_ready, top
  for lane = 4, 0, -1 do
    local head = heads[lane]
    if head then
      top = top or lane
      local ready = tonumber(sub(head, 10, 18), 36)
      local value = lane + floor(max(0, now - ready) / AGEING_MS)
      if not best or value > best_value or (value == best_value and ready < best_ready) then
        best, best_value, best_ready = lane, value, ready
      end
    end
  end
  if best and best ~= top then wanted = min(wanted, floor(capacity / 5) + 1) end
  return best, wanted
end

-- Drops what may not start. Returns the element to hand out (header + envelope), or nil.
local function admit_tracked(element)
  local id = sub(element, 39, 64)
  local record = call('GET', record_key(id))
  if not record or sub(record, 65, 65) ~= 'r' or sub(record, 4, 4) ~= sub(element, 4, 4)
    or sub(record, 28, 38) ~= sub(element, 28, 38) then
    add('ghosts', -1)
    return nil
  end
  if sub(element, 19, 27) ~= ZERO9 then
    call('ZREM', PREFIX .. 'expiring', id)
    if tonumber(sub(element, 19, 27), 36) <= now then
      end_record(id, record, 'e', sub(record, 5, 7))
      return nil
    end
  end
  return element .. sub(record, HEAD + 1)
end

local function end_untracked(element, state)
  end_record(sub(element, 39, 64), adopt(element, 'r'), state, sub(element, 5, 7))
end

local function admit_untracked(element, intents)
  if sub(element, 19, 27) ~= ZERO9 and tonumber(sub(element, 19, 27), 36) <= now then
    end_untracked(element, 'e')
    return nil
  end
  if intents then
    local id = sub(element, 39, 64)
    local intent = call('HGET', PREFIX .. 'intents', id)
    if intent then
      call('HDEL', PREFIX .. 'intents', id)
      local at, by, reason = string.match(intent, '^(%d+) (%S*) ?(.*)$')
      end_untracked(element, 'c')
      call('HSET', extras_key(id), 'cancelAt', at, 'cancelBy', by, 'cancelReason', reason)
      return nil
    end
  end
  return element
end

-- Takes up to `capacity` elements from the lanes, and no more once they have 1 MiB: a reply stays far below what a client
-- accepts. Also returns whether a lane still has something.
local function collect(capacity, intents)
  local taken, heads, budget, bytes = {}, {}, 2 * capacity + 100, 0
  for lane = 0, 4 do heads[lane] = call('LINDEX', PREFIX .. 'lane:' .. lane, 0) end
  -- What is popped must be handed out, so few are popped at once as long as they may be large.
  local step = 16
  while #taken < capacity and budget > 0 and bytes < REPLY_BYTES do
    local lane, wanted = choose(heads, min(capacity - #taken, budget), capacity)
    if not lane then return taken, false end
    local key = PREFIX .. 'lane:' .. lane
    budget = budget - wanted
    while wanted > 0 and bytes < REPLY_BYTES do
      local elements = call('LPOP', key, min(wanted, step))
      if not elements then break end
      wanted = wanted - #elements
      for i = 1, #elements do
        local element = elements[i]
        if sub(element, 2, 2) == '0' then
          element = admit_untracked(element, intents)
        else
          element = admit_tracked(element)
        end
        if element then
          taken[#taken + 1] = element
          bytes = bytes + #element
        end
      end
      step = bytes < 1024 * #taken and 500 or 16
    end
    budget = budget + wanted
    heads[lane] = call('LINDEX', key, 0)
  end
  for lane = 0, 4 do
    if heads[lane] then return taken, true end
  end
  return taken, false
end

-- A hash whose values have up to 64 bytes starts as a list that each HSET walks; one longer value makes it a table at once.
local PADDING = string.rep(' ', 40)

-- Hands the elements out: fences, the in-flight hash, the records of tracked ones.
local function hand_out(worker, taken)
  local n = #taken
  if n == 0 then return 0 end
  local fence = call('HINCRBY', META, 'fence', n) - n
  local inflight, owners = {}, {}
  for i = 1, n do
    local element = taken[i]
    local id = sub(element, 39, 64)
    local number = format('%d', fence + i)
    inflight[2 * i - 1] = number
    if sub(element, 2, 2) == '0' then
      inflight[2 * i] = element
    else
      inflight[2 * i] = sub(element, 1, 64) .. PADDING
      call('SETRANGE', record_key(id), 64, 'x' .. NOW36 .. format('%011x', fence + i))
      owners[#owners + 1] = id
      owners[#owners + 1] = number .. ' ' .. worker .. PADDING
    end
    event(id, 'x', false)
  end
  call('HSET', PREFIX .. 'inflight:' .. worker, unpack(inflight))
  if #owners > 0 then call('HSET', PREFIX .. 'run', unpack(owners)) end
  add('started', n)
  add('executing', n)
  return fence
end

-- Tells one watcher per queue the exact next instant, the others one second more. A watcher without a free slot hands over.
local function watch(worker, is_free, m)
  local due = next_due()
  local watcher = m[5]
  if not due then
    if m[6] then call('HDEL', META, 'watcher', 'next') end
    return -1
  end
  if is_free then
    if watcher ~= worker or tonumber(m[6] or 0) ~= due then
      call('HSET', META, 'watcher', worker, 'next', format('%d', due))
    end
    return max(0, due - now)
  end
  if not watcher or watcher == worker then
    call('HDEL', META, 'watcher', 'next')
    ring()
  end
  return max(0, due - now) + 1000
end

-- Reply: status, first fence − 1, milliseconds until the next due (−1 none), 1 if more is ready, elements…
local function take(worker, epoch, capacity)
  local refused, m = refusal(worker, epoch)
  if refused then
    local resumes = refused == 'paused' and m[2]
    return { refused, 0, resumes and max(0, tonumber(resumes) - now) or -1, 0 }
  end
  promote()
  local intents = m[4] and call('HLEN', PREFIX .. 'intents') > 0
  if m[4] and not intents then call('HDEL', META, 'intents') end
  local taken, more = collect(capacity, intents)
  local fence = hand_out(worker, taken)
  if more then ring() end
  local reply = { 'ok', fence, watch(worker, #taken < capacity, m), more and 1 or 0 }
  for i = 1, #taken do reply[i + 4] = taken[i] end
  return reply
end
