-- Reads the changes of many operations, newest first.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1]  the id of one; '' = all
-- Output   now, then for each: id, state (o open, e ended), fence, end of the lease, when it was created, who asked for
--          a stop (or ''), definition, progress
-- Events   none
-- include: base
-- include: change_heads
local reply = { NOW }
local ids = ARGV[1] == '' and change_ids() or { ARGV[1] }
for i = #ids, 1, -1 do
  local head = change_head(ids[i])
  if head then
    local texts = call('HMGET', META, ids[i] .. ':definition', ids[i] .. ':progress')
    for _, value in ipairs({ ids[i], head.state, head.fence, head.lease, head.created, head.stopper, texts[1], texts[2] }) do
      reply[#reply + 1] = value
    end
  end
end
return reply
