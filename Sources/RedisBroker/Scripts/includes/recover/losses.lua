-- The history of lost workers: the newest LOST_KEPT, for LOST_KEPT_MS. A set has them by the instant of their last
-- recovery. A hash has "lease until, last heartbeat, recovered, dead, cancelled, ids, info": the first LOST_NAMED ids,
-- separated by commas, and the worker's description of itself.
local LOST_KEPT = 1000
local LOST_KEPT_MS = 86400000
local LOST_FORGOTTEN_AT_ONCE = 100
-- Most bytes of a worker's description of itself; a longer one is not stored.
local LOST_INFO_BYTES = 8192
local LOST_NAMED = 20

local function forget_old_losses(set, about)
  local old = call('ZRANGEBYSCORE', set, '-inf', format('%d', now - LOST_KEPT_MS), 'LIMIT', 0, LOST_FORGOTTEN_AT_ONCE)
  local surplus = min(call('ZCARD', set) - LOST_KEPT, LOST_FORGOTTEN_AT_ONCE)
  if surplus > #old then old = call('ZRANGE', set, 0, surplus - 1) end
  if #old == 0 then return end
  call('ZREM', set, unpack(old))
  call('HDEL', about, unpack(old))
end

-- Call this while the worker still has its lease, with each part of what it held: the numbers add up.
local function keep_lost(worker, recovered, dead, cancelled, ids)
  local set, about = PREFIX .. 'lost', PREFIX .. 'lost:about'
  local before, n, d, c, named, said = string.match(call('HGET', about, worker) or '', '^%d+ (%d+) (%d+) (%d+) (%d+) (%S*) (.*)$')
  local is_known = call('HMGET', PREFIX .. 'worker:' .. worker, 'beatAt', 'info')
  -- The worker's hash may be gone, an hour after its last heartbeat.
  local info = is_known[2] or said or ''
  if #info > LOST_INFO_BYTES then info = '' end
  for id in string.gmatch(named or '', '%w+') do ids[#ids + 1] = id end
  call('HSET', about, worker, format('%s %s %d %d %d ', call('ZSCORE', PREFIX .. 'leases', worker) or NOW,
    is_known[1] or before or '0', (n or 0) + recovered, (d or 0) + dead, (c or 0) + cancelled)
    .. concat(ids, ',', 1, min(#ids, LOST_NAMED)) .. ' ' .. info)
  call('ZADD', set, NOW, worker)
  forget_old_losses(set, about)
  call('PEXPIRE', set, LOST_KEPT_MS)
  call('PEXPIRE', about, LOST_KEPT_MS)
end
