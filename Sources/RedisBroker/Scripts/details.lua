-- Reads whole operations.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     ids, at most 500
-- Output   for each, up to the one that reaches 4 MiB: an empty array (no such operation), or record, state, owner (''
--          or "fence worker"), errors, extras as field and value in turn
-- Events   none (reads only)
-- include: base
-- include: detail
local reply = {}
for i = 1, #ARGV do
  reply[i] = detail(ARGV[i])
  if is_full() then return reply end
end
return reply
