-- Hands back what a worker held whose process is known to have ended (at most 200 and about 256 KiB a call, the oldest first): its lease
-- need not lapse.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker
-- Output   recovered, dead, 1 if it holds more: call again
-- Events   r for each recovered (s with its last delivery), d for those delivered too often, c where a cancel was requested or the queue cancelled
-- include: base
-- include: recover
-- include: flush
local worker = ARGV[1]
call('HDEL', META, '')
local inflight = PREFIX .. 'inflight:' .. worker
if call('ZSCORE', PREFIX .. 'leases', worker) or call('EXISTS', inflight) == 1 then
  -- Lapsed from now on: should the caller stop half-way, a sweep does the rest.
  call('ZADD', PREFIX .. 'leases', format('%d', now - 1), worker)
  recover_all(worker, 'process')
end
flush()
return { recovered, dead, call('EXISTS', inflight) }
