-- Reads the changes of many operations, newest first.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1]  the id of one; '' = all
-- Output   now, then for each: id, fence, end of the lease, when it was created, who asked for a stop (or ''),
--          definition, progress, state (o open, e ended, ? unreadable)
-- Events   none
-- include: base
-- include: change_heads
local reply = { NOW }
local ids = ARGV[1] == '' and change_ids() or { ARGV[1] }
for i = #ids, 1, -1 do
  local head = change_head(ids[i])
  if head then
    for _, value in ipairs(change_row(ids[i], head)) do reply[#reply + 1] = value end
    reply[#reply + 1] = head.state
  end
end
return reply
