-- Releases blocked operations. A held operation goes to the head of its lane, or back to the time for which it waited,
-- if that is still to come. An operation that waits for dependencies loses them.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2…] ids, at most 500
-- Output   a character for each: 1 released, the letter of the state that forbids it (always for groups and their
--          callbacks), 0 unknown
-- Events   r, s or t for each, with the change
-- include: base
-- include: size
-- include: leave_waiting
-- include: enter_queue
-- include: leave_blocked
-- include: finish
-- include: needs
-- include: extras
-- include: flush
call('HDEL', META, '')
local outcomes, largest, changed, last_changed = {}, 0, 0, nil

local function leave_hold(id, head, from)
  leave_waiting(id, head)
  end_hold(id)
  if from == 'r' or ready_at_of(head) <= now then
    enter_head(header_of(head), nil, true)
    return
  end
  enter_set(id, head, from, ready_at_of(head))
  if deadline_of(head) then expire_at(id, deadline_of(head)) end
end

local function release(id)
  local head = head_of(id)
  if not head then return '0' end
  local state = state_of(head)
  local about = call('HMGET', extras_key(id), 'turn', 'heldFrom', 'group')
  if state ~= 'b' or about[1] or about[3] then return state end
  if about[2] then
    leave_hold(id, head, about[2])
  else
    if callback_of(id) then return state end
    call('UNLINK', needs_key(id))
    call('HDEL', extras_key(id), 'unmet')
    leave_blocked(id)
  end
  largest, changed, last_changed = max(largest, bytes_of_record(id)), changed + 1, id
  return '1'
end

-- The last one first, so that the operations stand in their order at the head of a lane.
for i = #ARGV, 2, -1 do outcomes[i - 1] = release(ARGV[i]) end
note_large(largest)
if changed > 0 then note_change('release', ARGV[1], changed, '', last_changed) end
flush()
return concat(outcomes)
