-- Cancels waiting operations, which end at once.
-- include: end_operation
-- include: leave_waiting
-- include: needs

local function note_requester(id, by, reason)
  call('HSET', extras_key(id), 'cancelAt', NOW, 'cancelBy', by, 'cancelReason', reason)
end

local function cancel_waiting_one(id, head, by, reason)
  leave_waiting(id, head)
  note_requester(id, by, reason)
  finish_waiting(id, head, 'c')
end

-- Cancels a dependent because of the end of its dependency.
local function cancel_dependent(id, head, dependency, state)
  cancel_waiting_one(id, head, 'dependency', 'depends on ' .. dependency .. ', which ' .. END_NAMES[state])
end
