-- Cancel requests for running operations, and who made them. A request is stored before its message is sent, because
-- the worker reads it there: the message only says when to look.
-- include: extras

-- Stores a request; the first one for a fence stays. `trace`: "instant by reason".
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

-- Stores who cancelled an operation, for people; the first entry stays. `trace` nil = its queue was cancelled.
local function note_cancel(id, trace)
  if has_cancel(id) then return end
  local at, by, reason = string.match(trace or call('HGET', META, 'cancelTrace') or '', '^(%d+) (%S*) ?(.*)$')
  if at then keep_cancel(id, at, by, reason) end
end
