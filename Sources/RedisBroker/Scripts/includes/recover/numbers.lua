-- Takes a worker that is gone out of the registries of workers and timers.
-- include: wake

-- Frees the number of a worker. The worker's hash may be gone already, an hour after its last heartbeat.
local function forget_number(worker)
  local number = call('HGET', PREFIX .. 'worker:' .. worker, 'number')
  if number then
    call('HDEL', PREFIX .. 'numbers', number)
    return
  end
  local all = call('HGETALL', PREFIX .. 'numbers')
  for i = 1, #all, 2 do
    if all[i + 1] == worker then call('HDEL', PREFIX .. 'numbers', all[i]) end
  end
end

-- Drops the timer of a worker, so that another one learns of the next instant.
local function drop_timer(worker)
  if call('HGET', META, 'timerOwner') ~= worker then return end
  call('HDEL', META, 'timerOwner', 'next')
  wake()
end
