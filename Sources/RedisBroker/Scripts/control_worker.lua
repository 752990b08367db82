-- Stores an operator's setting for a worker. The worker reads it with its heartbeat; the message only asks for one.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2] field: course or slots  ARGV[3] value: running, quiet or stop; a number of slots  ARGV[4] by
--          (one word)
-- Output   1 stored, 0 the worker has no lease in this queue
-- Events   the change
-- include: base
-- include: flush
local worker = ARGV[1]
if not call('ZSCORE', PREFIX .. 'leases', worker) then return 0 end
call('HSET', PREFIX .. 'worker:' .. worker, ARGV[2], ARGV[3] .. ' ' .. NOW .. ' ' .. ARGV[4])
pcall('PUBLISH', CHANNELS .. 'control:' .. worker, 'control')
note_change('control', ARGV[4], 0, worker .. ' ' .. (ARGV[2] == 'slots' and 'slots ' or '') .. ARGV[3])
flush()
return 1
