-- Pauses or resumes a queue. What runs goes on.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  1 pause, 0 resume  ARGV[2] for how many ms, 0 = until resumed
-- Output   1
-- Events   none
-- include: base
-- include: wake
call('HDEL', META, 'pausedUntil')
if ARGV[1] == '1' then
  call('HSET', META, 'paused', '1')
  if ARGV[2] ~= '0' then
    call('HSET', META, 'pausedUntil', format('%d', now + tonumber(ARGV[2])))
    announce_due(now + tonumber(ARGV[2]))
  end
else
  call('HDEL', META, 'paused')
  wake()
end
return 1
