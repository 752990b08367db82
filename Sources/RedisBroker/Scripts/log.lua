-- Reads log lines. Line numbers go on growing while old lines are dropped.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  id  ARGV[2] number of the first line, from 0  ARGV[3] how many lines at most
-- Output   number of the first line that follows, then the lines as report.lua stored them
-- Events   none (reads only)
-- include: base
-- include: keys
local base = tonumber(call('HGET', extras_key(ARGV[1]), 'logBase') or 0)
local first = max(tonumber(ARGV[2]), base)
local lines = call('LRANGE', log_key(ARGV[1]), first - base, first - base + tonumber(ARGV[3]) - 1)
local reply = { format('%d', first) }
for i = 1, #lines do reply[i + 1] = lines[i] end
return reply
