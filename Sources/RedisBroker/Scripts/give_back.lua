-- Gives operations back untried: neither attempt nor delivery changes. Pass them newest first, so that the oldest ends at the head.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker; then for each operation: fence, id, pause in ms (-1 = to the head of its lane), and the name that the worker does not
--          know ('' = another reason): the operation waits for a worker that knows it, or for the pause if there are too many names
-- Output   a character for each: r ready, s scheduled, c cancelled (it was requested meanwhile), = repeated, 0 stale
-- Events   the same states; control messages 'unhandled NUMBER NAME', each for a name of which there were none before
-- include: base
-- include: limits
-- include: events
-- include: doorbell
-- include: records
-- include: ending
-- include: held
-- include: set_aside
-- include: flush
local worker = ARGV[1]
local outcomes, earliest, ready = {}, nil, false

-- Its expiry was taken out when it was handed out.
local function expire_again(id, header)
  if sub(header, 19, 27) == ZERO9 then return end
  local deadline = tonumber(sub(header, 19, 27), 36)
  call('ZADD', PREFIX .. 'expiring', deadline, id)
  earliest = min(earliest or deadline, deadline)
end

local function later(id, head, pause)
  local due = now + pause
  call('SETRANGE', record_key(id), 9, time36(due) .. sub(head, 19, 64) .. 's')
  call('ZADD', PREFIX .. 'scheduled', due, id)
  expire_again(id, head)
  earliest = min(earliest or due, due)
  event(id, 's', true)
  return 's'
end

local function wait(element, id, pause, name)
  local head = head_for(element, 'x')
  if not head then return '0' end
  if name == '' or not set_aside(id, head, name) then return later(id, head, pause) end
  expire_again(id, head)
  return 'r'
end

local function settle(fence, id, pause, name)
  local element, order = release(worker, fence, id)
  if not element then
    local head = head_of(id)
    local mine = head and fence_of(head) == tonumber(fence)
    return mine and find(sub(head, 65, 65), '[rsu]') and '=' or '0'
  end
  add('returned', 1)
  if is_cancelled(fence, order) then
    local head = head_for(element, 'x')
    if not head then return '0' end
    cancel_released(element, head, order, sub(head, 5, 7))
    return 'c'
  end
  if pause >= 0 then return wait(element, id, pause, name) end
  local tracked = is_reference(element)
  if tracked and not head_of(id) then return '0' end
  put_back(element, tracked, sub(element, 8, 9), true)
  if tracked and sub(element, 19, 27) ~= ZERO9 then
    call('ZADD', PREFIX .. 'expiring', tonumber(sub(element, 19, 27), 36), id)
  end
  ready = true
  return 'r'
end

for i = 2, #ARGV, 4 do
  outcomes[#outcomes + 1] = settle(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]) or -1, ARGV[i + 3])
end
if ready then ring() end
if earliest then announce_due(earliest) end
flush_ended()
flush()
return concat(outcomes)
