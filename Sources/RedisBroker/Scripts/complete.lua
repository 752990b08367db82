-- Finishes operations in a commit batch, then claims again if asked to.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2] 1 = a repeat  ARGV[3] epoch  ARGV[4] capacity to claim, 0 = none
-- ARGV[5]  the highest fence that the worker ever got, and names: see claim.lua
-- ARGV[6]  number u of untracked operations  ARGV[7] number of their ids that follow, at most 50
-- ARGV[8…] u fences, the ids for the event, then for each tracked operation: fence, id, result ('' = none). At most 100
--          tracked operations keep the call short
-- Output   1: '' = all are done, or a character for each, untracked first: 1 done, 2 done before, 0 stale
--          2: the reply of a claim, or an empty array
-- Events   f for each that ended
-- include: base
-- include: leave_inflight_batch
-- include: finish_well
-- include: finish
-- include: room
-- include: take
-- include: enter_queue
-- include: flush
local FIRST = 8
-- A removing command comes first: Redis refuses a script whose first write adds data when its memory is full.
note_leaving()
local worker, untracked, ids = ARGV[1], tonumber(ARGV[6]), tonumber(ARGV[7])
local last = FIRST + untracked - 1
local first_triple = last + ids + 1
local outcomes = {}

-- Returns 2 if the operation ended under this fence before, else 0.
local function repeated(fence, id)
  local head = head_of(id)
  return head and fence_of(head) == tonumber(fence) and stored_state_of(head) == 'f' and '2' or '0'
end

local left = leave_inflight_untracked(worker, FIRST, last, ARGV[2] == '1', outcomes)
local held, tracked_left, tracked = leave_inflight_tracked(worker, first_triple)
finish_untracked(left, last + 1, last + ids)
for i = 1, tracked do
  local at = first_triple + 3 * i - 3
  outcomes[untracked + i] = held[i] and '1' or repeated(ARGV[at], ARGV[at + 1])
  if held[i] then finish_tracked(ARGV[at + 1], held[i], ARGV[at + 2]) end
end
drop_cancel_requests(worker, FIRST, last, first_triple)
-- Operations that waited for these may be claimed in this call.
go_on()
local all = left == untracked and tracked_left == tracked

local claimed = {}
local capacity = tonumber(ARGV[4])
if capacity > 0 and ARGV[2] ~= '1' then
  claimed = take(worker, tonumber(ARGV[3]), capacity, ARGV[5])
  if claimed[1] == 'ok' or claimed[1] == 'limited' or claimed[1] == 'paused' then forget_startable() end
end
flush()
return { all and '' or concat(outcomes), claimed }
