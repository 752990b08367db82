-- Reads the workers that a queue has lost lately, the newest first.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  rows, at most 1,000
-- Output   for each: worker, when its operations were last recovered, "lease until, last heartbeat, recovered, dead,
--          cancelled, ids, the worker's description of itself"
-- Events   none (reads only)
-- include: base
-- include: losses
local set, about = PREFIX .. 'lost', PREFIX .. 'lost:about'
local rows = call('ZRANGE', set, format('%d', -min(LOST_KEPT, tonumber(ARGV[1]))), -1, 'WITHSCORES')
local ids, times, reply = {}, {}, {}
for i = #rows - 1, 1, -2 do
  if tonumber(rows[i + 1]) > now - LOST_KEPT_MS then
    ids[#ids + 1], times[#times + 1] = rows[i], rows[i + 1]
  end
end
if #ids == 0 then return reply end
local said = call('HMGET', about, unpack(ids))
for i = 1, #ids do
  for _, value in ipairs({ ids[i], times[i], said[i] or '' }) do reply[#reply + 1] = value end
end
return reply
