-- Recovers the operations of a worker whose process has ended, before its lease lapses. A call recovers at most 200
-- operations and about 256 KiB, the oldest first.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker
-- Output   recovered, dead, 1 if the worker holds more: call again
-- Events   r for each recovered operation (s before its last delivery), d for each that was delivered too often, c
--          where a cancel was requested or the queue cancelled
-- include: base
-- include: recover
-- include: flush
local worker = ARGV[1]
call('HDEL', META, '')
local inflight = PREFIX .. 'inflight:' .. worker
if call('ZSCORE', PREFIX .. 'leases', worker) or call('EXISTS', inflight) == 1 then
  -- The lease lapses now, so a sweep does the rest if the caller stops half-way.
  call('ZADD', PREFIX .. 'leases', format('%d', now - 1), worker)
  recover_all(worker, 'process')
end
flush()
return { recovered, dead, call('EXISTS', inflight) }
