-- What goes with a worker that is gone, in the registry of workers and timers.
-- include: wake

-- Frees its number. Its hash may have gone before, an hour after its last beat.
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

-- Another worker must learn of the next instant.
local function drop_timer(worker)
  if call('HGET', META, 'timerOwner') ~= worker then return end
  call('HDEL', META, 'timerOwner', 'next')
  wake()
end
