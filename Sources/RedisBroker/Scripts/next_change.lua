-- Reads the oldest open change whose lease has ended, for a program that may take it.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1…] ids to leave alone
-- Output   no change: an empty list; otherwise id, fence, end of the lease, when it was created, who asked for a stop
--          (or ''), definition, progress
-- Events   none
-- include: base
-- include: change_heads
local left = {}
for _, id in ipairs(ARGV) do left[id] = true end
for _, id in ipairs(change_ids()) do
  local head = change_head(id)
  if not left[id] and head.state == 'o' and head.lease <= now then
    return change_row(id, head)
  end
end
return {}
