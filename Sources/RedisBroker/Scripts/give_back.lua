-- Gives operations back untried: neither attempt nor delivery changes. Pass the newest first, so that the oldest ends
-- at the head.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker; then for each operation: fence, id, pause in ms (-1 = to the head of its lane), and the name that
--          the worker does not handle ('' = another reason): the operation waits for a worker that handles it, or for
--          the pause if too many names have sets
-- Output   a character for each: r ready, s scheduled, c cancelled (it was requested meanwhile), = repeated, 0 stale
-- Events   the same states; control messages 'unhandled NUMBER NAME', one for each new name
-- include: base
-- include: leave_inflight
-- include: enter_queue
-- include: set_aside
-- include: limit_keys
-- include: finish_cancelled
-- include: room
-- include: flush
local worker = ARGV[1]
local outcomes, untried = {}, 0

local function repeated(fence, id)
  local head = head_of(id)
  return head and fence_of(head) == tonumber(fence) and find('rsub', stored_state_of(head), 1, true) and '=' or '0'
end

-- Makes an operation wait for the pause, or for a worker that handles its name. The claim removed the deadline, so it
-- is set again.
local function wait(id, head, pause, name)
  if name == '' or not enter_unhandled(id, head, name) then
    enter_set(id, head, 's', now + pause)
    name = ''
  end
  if deadline_of(head) then expire_at(id, deadline_of(head)) end
  return name == '' and 's' or 'r'
end

local function settle(fence, id, pause, name)
  local element, request = leave_inflight(worker, fence, id)
  if not element then return repeated(fence, id) end
  add('returned', 1)
  untried = untried + 1
  if has_limit_key(element) then limits_of_keys().untry(id) end
  local is_ended = is_cancelled(fence, request)
  if is_ended or pause >= 0 then
    local head = head_for(element)
    if not head then return '0' end
    if not is_ended then return wait(id, head, pause, name) end
    finish_cancelled(id, head, request)
    return 'c'
  end
  if is_reference(element) and not head_of(id) then return '0' end
  enter_head(element, nil, true)
  return 'r'
end

for i = 2, #ARGV, 4 do
  outcomes[#outcomes + 1] = settle(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]) or -1, ARGV[i + 3])
end
-- A rate counts only tried operations, so the starts come back.
if untried > 0 then
  local m = call('HMGET', META, 'limits', 'bucket')
  local rate = m[1] and rate_of(m[1], m[2])
  if rate then use_starts(rate, -untried) end
end
flush()
return concat(outcomes)
