-- Tells the worker that holds a fence to cancel: what is to be told is stored first. The first wish is the one that is remembered.
local function order(worker, fence, trace, reason)
  if call('HSETNX', PREFIX .. 'cancelling:' .. worker, fence, trace) == 1 then
    call('PUBLISH', PREFIX .. 'control:' .. worker, 'cancel ' .. fence .. ' ' .. reason)
  end
end
