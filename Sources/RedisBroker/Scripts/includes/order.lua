-- Asks the worker that holds a fence to cancel. The request is stored first, because the worker reads it there: the message only says
-- when to look. The first request is the one that is remembered.
local function order(worker, fence, trace)
  if call('HSETNX', PREFIX .. 'cancelling:' .. worker, fence, trace) == 1 then
    pcall('PUBLISH', CHANNELS .. 'control:' .. worker, 'cancel ' .. fence)
  end
end
