-- Gives up a worker's lease, once it holds nothing.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2…] its last figures: number, how many names, then name and counts of each; nothing if it has none
-- Output   1 = gone, 0 = it still holds operations; its lease stays until it lapses, and its figures are not taken
-- Events   none
-- include: base
-- include: numbers
-- include: schedule_watch
-- include: take_figures
-- include: stopping
-- include: flush
local worker = ARGV[1]
if call('EXISTS', PREFIX .. 'inflight:' .. worker) == 1 then return 0 end
add_minute(take_figures(PREFIX .. 'worker:' .. worker, 2))
call('ZREM', PREFIX .. 'leases', worker)
free_stopped_keys(worker)
forget_number(worker)
call('DEL', PREFIX .. 'worker:' .. worker, PREFIX .. 'cancelling:' .. worker)
drop_timer(worker)
leave_schedules(worker)
flush()
return 1
