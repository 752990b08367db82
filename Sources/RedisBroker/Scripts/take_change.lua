-- Takes the oldest open change whose lease has ended, to perform it.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1]  lease in ms
-- Output   nothing to take: an empty list; otherwise id, fence, end of the lease, when it was created, who asked for a
--          stop (or ''), definition, progress
-- Events   none
-- include: base
-- include: change_heads
call('HDEL', META, '')
for _, id in ipairs(change_ids()) do
  local head = change_head(id)
  if head.state == 'o' and head.lease <= now then
    head.fence, head.lease = head.fence + 1, now + ARGV[1]
    write_change_head(id, head)
    local texts = call('HMGET', META, id .. ':definition', id .. ':progress')
    return { id, head.fence, head.lease, head.created, head.stopper, texts[1], texts[2] }
  end
end
return {}
