-- Takes states that another queue reports of its operations, on which operations of this queue depend. A call is a
-- message, or the answer to a question, and may come late, or twice.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  the other queue  ARGV[2…] of each operation id, sequence, state (as `link` answers) and its result,
--          '' = none, or a long one
-- Output   1
-- Events   c for each dependent that is cancelled, r or s for each that can start, b for each dead group of which a
--          member is tried again
-- include: base
-- include: finish
-- include: remote
-- include: members
-- include: flush
local DEPENDENTS = 100

if not is_queue_name(ARGV[1]) or #ARGV > 1 + 4 * BATCH then return redis.error_reply(format('ERR sluice: resolve got queue "%.99s" and %d operations: expected a queue name (1 to 128 letters, digits, ".", "_" or "-") and at most %d operations', ARGV[1], (#ARGV - 1) / 4, BATCH)) end
-- Notes a dependency that has not ended since it got this sequence. No earlier end counts, not even one that arrives
-- later. If the dependency had ended before, it was retried, and its groups wait for it again.
local function note_live(name, sequence, ended)
  call('HSET', remote_key(name), 'sequence', format('%.0f', sequence - 1))
  if not ended then return end
  call('HDEL', remote_key(name), 'state', 'result')
  ask_soon(name)
  group_members().wait_for_remote(name)
end

call('HDEL', META, '')
limit_resolving(DEPENDENTS)
for i = 2, #ARGV, 4 do
  local name = ARGV[1] .. '/' .. ARGV[i]
  local sequence = tonumber(ARGV[i + 1])
  local last, ended, is_new = hear_of(name, sequence, ARGV[i + 2])
  local is_last = is_new or sequence == last
  if is_last and ended == 'f' and ARGV[i + 3] ~= '' and #ARGV[i + 3] <= INPUT_BYTES then call('HSET', remote_key(name), 'result', ARGV[i + 3]) end
  if ARGV[i + 2] == '-' and ended ~= 'f' and sequence > last then
    note_live(name, sequence, ended)
  elseif ended then
    note_ended_dependency(name, last, ended)
  end
end
flush()
return 1
