-- Reads a queue's events that the stream still has, oldest first.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  the entry to begin behind, '' = by time  ARGV[2] how many milliseconds before now to begin  ARGV[3] entries,
--          at most 500
-- Output   server time, number of the last event, entries in the stream, the first of these ('' = none), then entry and
--          text of each
-- Events   none (reads only)
-- include: base
local stream, from = PREFIX .. 'stream', ARGV[1]
from = from == '' and format('%d', max(0, now - tonumber(ARGV[2]))) or '(' .. from
local first = call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
local reply = { NOW, call('HGET', META, 'eventSequence') or '0', call('XLEN', stream), first and first[1] or '' }
for _, row in ipairs(call('XRANGE', stream, from, '+', 'COUNT', min(BATCH, tonumber(ARGV[3])))) do
  reply[#reply + 1] = row[1]
  reply[#reply + 1] = row[2][2]
end
return reply
