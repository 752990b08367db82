-- Corrects the number of stale references in lanes, for doctor --fix.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  the fence and ARGV[2] the sequence of the queue, ARGV[3] the number as it is, ARGV[4] as it should be
-- Output   1 = done, 0 = the queue has changed since doctor counted
-- Events   none
-- include: base
-- A removing command first: a fix must work when Redis is full.
call('HDEL', META, '')
local counters = call('HMGET', META, 'fence', 'sequence')
if (counters[1] or '') ~= ARGV[1] or (counters[2] or '') ~= ARGV[2] then return '0' end
if tonumber(call('HGET', TOTALS, 'stale') or 0) ~= tonumber(ARGV[3]) then return '0' end
call('HSET', TOTALS, 'stale', ARGV[4])
return '1'
