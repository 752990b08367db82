-- Another queue says how its operations stand that some of this one depend on; a message, or the answer to a question. It may come late, or twice.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  the other queue  ARGV[2…] of each id, sequence, state (as `link` answers) and its result, '' = it has none, or a long one
-- Output   1
-- Events   c for each dependent that is cancelled, r or s for each that can start
-- include: base
-- include: finish
-- include: remote
-- include: flush
local DEPENDENTS = 100

if not is_queue_name(ARGV[1]) or #ARGV > 1 + 4 * BATCH then return redis.error_reply('ERR sluice: resolve takes the name of a queue and at most 500 operations') end
call('HDEL', META, '')
left_to_resolve = DEPENDENTS
for i = 2, #ARGV, 4 do
  local name = ARGV[1] .. '/' .. ARGV[i]
  local sequence = tonumber(ARGV[i + 1])
  local last, ended, is_new = hear_of(name, sequence, ARGV[i + 2])
  local is_last = is_new or sequence == last
  if is_last and ended == 'f' and ARGV[i + 3] ~= '' and #ARGV[i + 3] <= INPUT_BYTES then call('HSET', remote_key(name), 'result', ARGV[i + 3]) end
  if ended then note_ended_dependency(name, last, ended) end
end
flush()
return 1
