-- Cancels everything that is in the queue now, in constant time: what waits is renamed into a grave, what runs is told.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by  ARGV[2] reason
-- Output   number that waited, number that run
-- Events   one with the count of those that waited
-- include: base
-- include: records
call('HDEL', META, '')
local m = call('HMGET', META, 'sequence', 'fence')
local sequence, fence = m[1] or '0', m[2] or '0'
local grave = call('HINCRBY', META, 'grave', 1)
local waiting = 0
for lane = 0, 4 do
  local key = PREFIX .. 'lane:' .. lane
  local n = call('LLEN', key)
  waiting = waiting + n
  if n > 0 then call('RENAME', key, PREFIX .. 'grave:' .. grave .. ':lane:' .. lane) end
end
waiting = waiting - tonumber(call('HGET', TOTALS, 'ghosts') or 0)
for _, place in ipairs({ 'scheduled', 'retrying' }) do
  local n = call('ZCARD', PREFIX .. place)
  waiting = waiting + n
  if n > 0 then call('RENAME', PREFIX .. place, PREFIX .. 'grave:' .. grave .. ':' .. place) end
end
if call('EXISTS', PREFIX .. 'unhandled') == 1 then
  waiting = waiting + tonumber(call('HGET', TOTALS, 'unhandled') or 0)
  call('RENAME', PREFIX .. 'unhandled', PREFIX .. 'grave:' .. grave .. ':unhandled')
  call('RENAME', PREFIX .. 'unhandled:names', PREFIX .. 'grave:' .. grave .. ':names')
  call('HSET', TOTALS, 'unhandled', '0')
end
-- Expiry entries go at once: UNLINK frees a large set outside the script's time.
call('UNLINK', PREFIX .. 'expiring')
local trace = format('%d ', now) .. ARGV[1] .. ' ' .. ARGV[2]
call('HSET', META, 'cancelledSequence', sequence, 'cancelledFence', fence,
  'cancelTrace', trace)
call('HSET', TOTALS, 'ghosts', '0')
call('HINCRBY', TOTALS, 'cancelled', waiting)
call('HINCRBY', TOTALS, 'clearing', waiting)
call('RPUSH', PREFIX .. 'graves', grave .. ' ' .. sequence .. ' ' .. trace)
pcall('PUBLISH', CHANNELS .. 'control', 'cancelThrough')
if waiting > 0 then
  local last = call('HINCRBY', META, 'eventSequence', waiting)
  local text = format('%d %d c=%d ', last - waiting + 1, last, waiting)
  pcall('PUBLISH', CHANNELS .. 'events', text)
  call('XADD', PREFIX .. 'stream', 'MAXLEN', '~', 10000, '*', 'e', text)
end
return { waiting, tonumber(call('HGET', TOTALS, 'executing') or 0) }
