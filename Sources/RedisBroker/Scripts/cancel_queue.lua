-- Cancels everything that is in the queue now, in constant time: waiting operations become a cancelled batch, and
-- running ones are asked to end.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by  ARGV[2] reason
-- Output   how many operations waited, how many run
-- Events   one with the number of operations that waited, and the change
-- include: base
-- include: cancel_batch
-- include: flush
call('HDEL', META, '')
local m = call('HMGET', META, 'sequence', 'fence')
local sequence, fence = m[1] or '0', m[2] or '0'
local trace = format('%d ', now) .. ARGV[1] .. ' ' .. ARGV[2]
local waiting = cancel_waiting(sequence, trace)
call('HSET', META, 'cancelledSequence', sequence, 'cancelledFence', fence, 'cancelTrace', trace)
pcall('PUBLISH', CHANNELS .. 'control', 'cancelThrough')
local executing = tonumber(call('HGET', TOTALS, 'executing') or 0)
note_change('cancelQueue', ARGV[1], waiting + executing, ARGV[2])
flush()
return { waiting, executing }
