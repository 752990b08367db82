-- The extras of an operation: a hash with fields that only some operations have. This file owns the fields of a cancel
-- and of a hold, and knows which fields a retry clears. Other includes own the fields of what they store: links,
-- groups, unique keys, waiters, logs.
--   cancelAt, cancelBy, cancelReason   the first request, or the cancel of the whole queue
--   cancelStanding                     the id of the standing cancel that cancelled the operation
--   cancelForced…                      trace, fence and worker of a forced cancel
--   cancelAcknowledgedAt               when the worker acknowledged the request
--   cancelStoppedAt                    when the body of a forced cancel stopped
--   heldAt, heldBy, heldReason         a hold; heldFrom: the letter of the state before
-- include: keys
local function has_cancel(id) return call('HEXISTS', extras_key(id), 'cancelAt') == 1 end

local function keep_cancel(id, at, by, reason)
  call('HSET', extras_key(id), 'cancelAt', at, 'cancelBy', by, 'cancelReason', reason)
end

local function keep_forced_cancel(id, trace, fence, worker)
  call('HSET', extras_key(id), 'cancelForced', trace, 'cancelForcedFence', fence, 'cancelForcedWorker', worker)
end

-- Whether a forced cancel has ended the run of this fence.
local function is_forced(id, fence) return call('HGET', extras_key(id), 'cancelForcedFence') == fence end

local function keep_standing_cancel(id, standing) call('HSET', extras_key(id), 'cancelStanding', standing) end

-- The first time counts.
local function acknowledge_cancel(id) call('HSETNX', extras_key(id), 'cancelAcknowledgedAt', format('%d', now)) end
local function note_stopped(id) call('HSETNX', extras_key(id), 'cancelStoppedAt', format('%d', now)) end

local function is_held(id) return call('HEXISTS', extras_key(id), 'heldAt') == 1 end

local function keep_hold(id, by, reason, from)
  call('HSET', extras_key(id), 'heldAt', NOW, 'heldBy', by, 'heldReason', reason, 'heldFrom', from)
end

-- An operation that was ready gets a time to start: its release puts it into the set of that time.
local function hold_for_a_time(id)
  if call('HGET', extras_key(id), 'heldFrom') == 'r' then call('HSET', extras_key(id), 'heldFrom', 's') end
end

local function end_hold(id) call('HDEL', extras_key(id), 'heldAt', 'heldBy', 'heldReason', 'heldFrom') end

-- Clears what belongs to the runs before a retry. Errors, log and links stay.
local function forget_runs(id)
  call('HDEL', extras_key(id), 'progress', 'turn', 'cancelAt', 'cancelBy', 'cancelReason', 'cancelStanding', 'cancelForced',
    'cancelForcedFence', 'cancelForcedWorker', 'cancelAcknowledgedAt', 'cancelStoppedAt', 'heldAt', 'heldBy', 'heldReason', 'heldFrom')
end
