-- Ends attempts that did not end well: retry, dead, or cancelled. A requested cancel beats both others.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker; then for each operation: fence, id, kind (t retry | d dead | c cancelled), pause in ms, error JSON ('' = none)
-- Output   a character for each: the state it went to (t | d | c), = it went there before, 0 stale
-- Events   the same states
-- include: base
-- include: leave_inflight
-- include: enter_queue
-- include: finish_cancelled
-- include: keep_error
-- include: flush
local worker = ARGV[1]
local outcomes = {}

-- A repeat finds the record as the first call left it: with its fence as the last one, and no longer running.
local function repeated(fence, id)
  local head = head_of(id)
  if not head or fence_of(head) ~= tonumber(fence) then return '0' end
  return find('tdc', stored_state_of(head), 1, true) and '=' or '0'
end

local function settle(fence, id, kind, pause, json)
  local element, request = leave_inflight(worker, fence, id)
  if not element then return repeated(fence, id) end
  local head = head_for(element, tonumber(fence))
  if not head then return '0' end
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
