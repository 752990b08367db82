-- Cancels waiting operations, which end at once.
-- include: end_operation
-- include: leave_waiting
-- include: needs
-- include: extras

local function cancel_waiting_one(id, head, by, reason)
  leave_waiting(id, head)
  keep_cancel(id, NOW, by, reason)
  finish_waiting(id, head, 'c')
end

-- Cancels a dependent because of the end of its dependency.
local function cancel_dependent(id, head, dependency, state)
  cancel_waiting_one(id, head, 'dependency', 'depends on ' .. dependency .. ', which ' .. END_NAMES[state])
end
