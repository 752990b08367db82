-- Removes many operations of one worker from its in-flight hash in one call: see leave_inflight.lua.
-- include: header
-- include: limit_keys

-- Removes untracked operations, whose fences stand in ARGV[first…last]. Writes an outcome for each into `outcomes`: 1
-- left now, 0 the fence is stale. Returns how many left. A worker that was never swept owns all operations that it got,
-- so one HDEL settles the batch. Otherwise, and if the worker is unknown, each fence is checked.
local function leave_inflight_untracked(worker, first, last, is_repeat, outcomes)
  local inflight, count = PREFIX .. 'inflight:' .. worker, last - first + 1
  if count == 0 then return 0 end
  local about = call('HMGET', PREFIX .. 'worker:' .. worker, 'number', 'swept')
  if not is_repeat and about[1] and not about[2] then
    for i = 1, count do outcomes[i] = '1' end
    local left = call('HDEL', inflight, unpack(ARGV, first, last))
    add('executing', -left)
    return left
  end
  local left = 0
  for i = 1, count do
    local removed = call('HDEL', inflight, ARGV[first + i - 1])
    outcomes[i] = removed == 1 and '1' or '0'
    left = left + removed
  end
  add('executing', -left)
  return left
end

-- Removes tracked operations, in triples from ARGV[first] on, each of which begins with fence and id. All are read
-- together and removed together. Returns the element of each (false = it did not leave), how many left, and the number
-- of triples.
local function leave_inflight_tracked(worker, first)
  local inflight, fences, left = PREFIX .. 'inflight:' .. worker, {}, {}
  for i = first, #ARGV, 3 do fences[#fences + 1] = ARGV[i] end
  if #fences == 0 then return {}, 0, 0 end
  local held = call('HMGET', inflight, unpack(fences))
  for i = 1, #fences do
    if held[i] and id_of(held[i]) == ARGV[first + 3 * i - 2] then
      left[#left + 1] = fences[i]
      if has_limit_key(held[i]) then limits_of_keys().stop(id_of(held[i])) end
    else
      held[i] = false
    end
  end
  if #left > 0 then call('HDEL', inflight, unpack(left)) end
  add('executing', -#left)
  return held, #left, #fences
end

-- Drops the cancel requests of operations that have left. A forced request stays: a report answers it.
local function drop_cancel_requests(worker, first, last, first_triple)
  local requests = PREFIX .. 'cancelling:' .. worker
  if call('EXISTS', requests) == 0 then return end
  local function drop(fence)
    local request = call('HGET', requests, fence)
    if request and find(request, '!', 1, true) ~= 1 then call('HDEL', requests, fence) end
  end
  for i = first, last do drop(ARGV[i]) end
  for i = first_triple, #ARGV, 3 do drop(ARGV[i]) end
end
