-- Notes that another queue has stored these ends. If an operation was retried meanwhile, it has another end or none,
-- and its entry stays.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  the other queue  ARGV[2…] id, sequence and letter of each end
-- Output   1 if more can be relayed now
-- Events   none
-- include: base
-- include: outboxes
local queue = ARGV[1]
local outbox = outbox_of(queue)
for i = 2, #ARGV, 3 do
  local score = call('ZSCORE', outbox, ARGV[i])
  if score and tonumber(score) == tonumber(outbox_score(tonumber(ARGV[i + 1]), ARGV[i + 2])) then call('ZREM', outbox, ARGV[i]) end
end
if call('EXISTS', outbox) == 1 then call('ZADD', OUTBOXES, '0', queue) else call('ZREM', OUTBOXES, queue) end
return #call('ZRANGEBYSCORE', OUTBOXES, '-inf', NOW, 'LIMIT', '0', '1')
