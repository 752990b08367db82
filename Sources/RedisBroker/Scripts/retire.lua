-- Gives up the lease of a worker that holds nothing.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2…] its last statistics: number, how many names, then name and counts of each; absent if it has
--          none
-- Output   1 = gone, 0 = the worker still holds operations; its lease stays until it lapses, and its statistics are not
--          taken
-- Events   r or s for each operation that gets a unique key which a forced cancel has left with the worker
-- include: base
-- include: numbers
-- include: schedule_watch
-- include: take_statistics
-- include: stopping
-- include: flush
local worker = ARGV[1]
if call('EXISTS', PREFIX .. 'inflight:' .. worker) == 1 then return 0 end
add_minute(take_statistics(PREFIX .. 'worker:' .. worker, 2))
call('ZREM', PREFIX .. 'leases', worker)
free_stopped_keys(worker)
forget_number(worker)
call('DEL', PREFIX .. 'worker:' .. worker, PREFIX .. 'cancelling:' .. worker)
drop_timer(worker)
leave_schedules(worker)
flush()
return 1
