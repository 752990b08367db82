-- in the base
-- include: record

-- Returns when, by whom and why the queue was cancelled, for an operation with this head that the cancel has ended. The
-- first cancel that covers its sequence counts. Cancelled batches stand in the order of their cancels until they are
-- cleared away.
local function queue_cancel(head)
  local batches, sequence = PREFIX .. 'batches', sequence_of(head)
  local low, high = 0, call('LLEN', batches) - 1
  while low < high do
    local middle = floor((low + high) / 2)
    local covers = tonumber(string.match(call('LINDEX', batches, middle), '^%d+ (%d+)')) >= sequence
    if covers then high = middle else low = middle + 1 end
  end
  local batch = call('LINDEX', batches, low)
  local trace = batch and string.match(batch, '^%d+ %d+ (.*)$') or call('HGET', META, 'cancelTrace') or ''
  return string.match(trace, '^(%d+) (%S*) ?(.*)$')
end
