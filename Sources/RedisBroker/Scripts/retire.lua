-- Gives up a worker's lease, once it holds nothing.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker
-- Output   1 = gone, 0 = it still holds operations; its lease stays until it lapses
-- Events   none
-- include: base
local worker = ARGV[1]
if call('EXISTS', PREFIX .. 'inflight:' .. worker) == 1 then return 0 end
call('ZREM', PREFIX .. 'leases', worker)
local number = call('HGET', PREFIX .. 'worker:' .. worker, 'number')
if number then call('HDEL', PREFIX .. 'numbers', number) end
call('DEL', PREFIX .. 'worker:' .. worker, PREFIX .. 'cancelling:' .. worker)
if call('HGET', META, 'watcher') == worker then call('HDEL', META, 'watcher', 'next') end
return 1
