-- Reads what holds back the operations of a limit key.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  key  ARGV[2] how many ids
-- Output   its limits, those of all keys ('' = none), how many wait in no lane, how many stand in lanes, how many run,
--          some ids of these (in order), server time, and when all starts of its rate are back, in microseconds
--          ('' = now)
-- Events   none (reads only)
-- include: base
-- include: limit_key_names
local key = ARGV[1]
local running = PREFIX .. 'running:' .. key
local limits = call('HMGET', PREFIX .. 'keyLimits', key, '*')
local ids = call('SRANDMEMBER', running, ARGV[2])
table.sort(ids)
return { limits[1] or '', limits[2] or '', call('ZCARD', waiting_of_key(key)), call('ZCARD', next_of_key(key)), call('SCARD', running), ids, format('%d', now),
  bucket_of_key(key) }
