-- Cancel requests of what runs, and who asked. A request is stored first, because the worker reads it there: the message only says when to look.
-- include: keys

-- The first request is the one that is remembered. `trace`: "instant by reason".
local function request_cancel(worker, fence, trace)
  if call('HSETNX', PREFIX .. 'cancelling:' .. worker, fence, trace) == 1 then
    pcall('PUBLISH', CHANNELS .. 'control:' .. worker, 'cancel ' .. fence)
  end
end

-- Whether a run was asked to end, alone (`request`) or with its queue.
local cancelled_fence
local function is_cancelled(fence, request)
  if request then return true end
  if not cancelled_fence then cancelled_fence = tonumber(call('HGET', META, 'cancelledFence') or 0) end
  return tonumber(fence) <= cancelled_fence
end

-- Who cancelled it, for people; nil = its queue was cancelled. The first one stays.
local function note_cancel(id, trace)
  local key = extras_key(id)
  if call('HEXISTS', key, 'cancelAt') == 1 then return end
  local at, by, reason = string.match(trace or call('HGET', META, 'cancelTrace') or '', '^(%d+) (%S*) ?(.*)$')
  if at then call('HSET', key, 'cancelAt', at, 'cancelBy', by, 'cancelReason', reason) end
end
