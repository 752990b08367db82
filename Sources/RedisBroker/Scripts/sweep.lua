-- Does one bounded step of the work that is left in a queue. A step recovers operations of one lapsed worker (the
-- oldest first, at most 200), clears away a part of a cancelled queue (at most 80 operations and about 256 KiB), ends
-- at most 100 operations beyond their deadline that no claim has noticed, or notifies at most 100 dependents of ends.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     none
-- Output   recovered, dead, cleared, 1 if more is left to sweep now
-- Events   r for each recovered operation (s before its last delivery), d for each that was delivered too often, c
--          where a cancel was requested or a queue cancelled, e for each that has expired
-- include: base
-- include: recover
-- include: clear_batch
-- include: clear_outbox
-- include: expire
-- include: flush
call('HDEL', META, '')
-- Only a heartbeat notices that Redis was away or its clock was set. A sweep that comes before it counts no worker as
-- lost.
local function lapsed_worker()
  local m = call('HMGET', META, 'leaseFloor', 'lastSeen', 'longestGap')
  if tonumber(m[1] or 0) >= now then return nil end
  local seen = tonumber(m[2] or now)
  if now < seen or (m[3] and now - seen > tonumber(m[3])) then return nil end
  return call('ZRANGEBYSCORE', PREFIX .. 'leases', '-inf', format('(%d', now), 'LIMIT', 0, 1)[1]
end

-- Deadlines pass unnoticed if nothing is claimed, because the queue is paused or all slots are busy.
local EXPIRED_AT_ONCE = 100
local worker = lapsed_worker()
local cleared, expired = 0, 0
if worker then
  recover_all(worker, 'lease')
elseif call('EXISTS', PREFIX .. 'batches') == 1 then
  cleared = clear_batch()
else
  expired = expire_due(EXPIRED_AT_ONCE)
  if expired == 0 then clear_outbox() end
end
flush()
local more = expired == EXPIRED_AT_ONCE or lapsed_worker() or call('EXISTS', PREFIX .. 'batches', OUTBOX) > 0
return { recovered, dead, cleared, more and 1 or 0 }
