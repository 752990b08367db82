-- Pauses or resumes a queue. Running operations go on.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  1 pause, 0 resume  ARGV[2] for how many ms, 0 = until resumed  ARGV[3] by (one word)  ARGV[4] reason
-- Output   1
-- Events   the change
-- include: base
-- include: wake
-- include: flush
local by, reason = ARGV[3], ARGV[4]
call('HDEL', META, 'pausedUntil', 'pauseTrace')
if ARGV[1] == '1' then
  call('HSET', META, 'paused', '1', 'pauseTrace', NOW .. ' ' .. by .. ' ' .. reason)
  if ARGV[2] ~= '0' then
    call('HSET', META, 'pausedUntil', format('%d', now + tonumber(ARGV[2])))
    announce_due(now + tonumber(ARGV[2]))
  end
else
  call('HDEL', META, 'paused')
  wake()
end
local limit = ARGV[2] ~= '0' and format('for %.15g s', tonumber(ARGV[2]) / 1000) or ''
note_change(ARGV[1] == '1' and 'pause' or 'resume', by, 0, limit .. (limit ~= '' and reason ~= '' and ', ' or '') .. reason)
flush()
return 1
