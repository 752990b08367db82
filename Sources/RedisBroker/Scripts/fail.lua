-- Ends runs that did not finish: retry, dead, cancelled, or later again without a used attempt. A cancel request beats
-- all others.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker; then for each operation: fence, id, kind (t retry | d dead | c cancelled | k cancelled by a standing
--          cancel | z snoozed | y left its slot to others), pause in ms or id of the standing cancel, and one text:
--          error JSON ('' = none), "instant by reason" of the standing cancel, or why it is snoozed
-- Output   a character for each: the state it went to (t | d | c | s | r), = it went there before, 0 stale
-- Events   the same states
-- include: base
-- include: leave_inflight
-- include: enter_queue
-- include: finish_cancelled
-- include: keep_error
-- include: standing
-- include: extras
-- include: flush
local worker = ARGV[1]
local outcomes = {}

-- A repeat finds the record as the first call left it: under the same fence, and no longer running.
local function repeated(fence, id)
  local head = head_of(id)
  if not head or fence_of(head) ~= tonumber(fence) then return '0' end
  return find('tdcbsru', stored_state_of(head), 1, true) and '=' or '0'
end

-- Queues or schedules the next run of an operation whose body snoozed or left its slot. The operation started in time,
-- so its deadline no longer applies. The run ended by itself, so the count of lost workers restarts.
local function run_again(id, head, kind, pause, reason)
  local extras = extras_key(id)
  add('returned', 1)
  if kind == 'y' then
    call('HINCRBY', extras, 'yields', '1')
    enter_tail(id, changed_header(head, nil, nil, 1, NOW36, ZERO9))
    return 'r'
  end
  call('HINCRBY', extras, 'snoozes', '1')
  call('HSET', extras, 'snoozedUntil', format('%d', now + pause), 'snoozeReason', reason)
  enter_set(id, head, 's', now + pause, nil, 1, ZERO9)
  return 's'
end

-- Ends an operation that matched a standing cancel before its body began. No attempt is used.
local function end_caught(id, head, request, standing, trace)
  if call('HEXISTS', STANDING, standing) == 1 then call('HINCRBY', STANDING, 'cancelled:' .. standing, '1') end
  finish_cancelled(id, head, request or trace, failures_of(head))
  keep_standing_cancel(id, standing)
  return 'c'
end

local function settle(fence, id, kind, pause, json)
  local element, request = leave_inflight(worker, fence, id)
  if not element then return repeated(fence, id) end
  local head = head_for(element, tonumber(fence))
  if not head then return '0' end
  if kind == 'k' then return end_caught(id, head, request, format('%d', pause), json) end
  if kind == 'z' or kind == 'y' then
    if not is_cancelled(fence, request) then return run_again(id, head, kind, pause, json) end
    finish_cancelled(id, head, request)
    return 'c'
  end
  if json ~= '' then keep_error(id, format('%d ', now) .. json) end
  local failures = one_more_failed(head)
  if is_cancelled(fence, request) then
    finish_cancelled(id, head, request, failures)
    return 'c'
  end
  if kind == 't' then
    enter_set(id, head, 't', now + pause, failures, 1, ZERO9)
    add('retried', 1)
  elseif kind == 'c' then
    finish_cancelled(id, head, request, failures)
  else
    finish(id, head, 'd', failures)
  end
  return kind
end

for i = 2, #ARGV, 5 do
  outcomes[#outcomes + 1] = settle(ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]) or 0, ARGV[i + 4])
end
flush()
return concat(outcomes)
