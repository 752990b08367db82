-- include: keys

-- Notifies clients that wait for an operation or follow it. `awaited` has every operation that a client asked about
-- within the last minute.
local AWAITED = PREFIX .. 'awaited'
local is_anything_awaited
local function notify_waiters(id, letter)
  if is_anything_awaited == nil then is_anything_awaited = call('EXISTS', AWAITED) == 1 end
  if not is_anything_awaited or not call('ZSCORE', AWAITED, id) then return end
  local waiters = call('HGET', extras_key(id), 'waiters')
  if not waiters then return end
  for waiter in string.gmatch(waiters, '%S+') do
    pcall('PUBLISH', CHANNELS .. 'waiter:' .. waiter, letter .. id)
  end
end
