-- Gives up a worker's lease, once it holds nothing.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker
-- Output   1 = gone, 0 = it still holds operations; its lease stays until it lapses
-- Events   none
-- include: base
-- include: numbers
local worker = ARGV[1]
if call('EXISTS', PREFIX .. 'inflight:' .. worker) == 1 then return 0 end
call('ZREM', PREFIX .. 'leases', worker)
forget_number(worker)
call('DEL', PREFIX .. 'worker:' .. worker, PREFIX .. 'cancelling:' .. worker)
drop_timer(worker)
return 1
