-- Reads the standing cancels of a queue.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     none
-- Output   now, the revision of the list, then for each that is alive: id, end, when it was set, by, query, reason, how
--          many operations it has cancelled
-- Events   none
-- include: base
-- include: standing_list
local reply = { NOW, call('HGET', META, 'standingRevision') or '0' }
for _, it in ipairs(standing_cancels()) do
  for _, value in ipairs({ it.id, it.ends, it.at, it.by, it.query, it.reason, it.cancelled }) do reply[#reply + 1] = value end
end
return reply
