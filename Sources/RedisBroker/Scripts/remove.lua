-- Removes operations that do not run, with everything stored about them.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2…] ids, at most 500
-- Output   a character for each: 1 removed, x it runs, 0 unknown
-- Events   the change
-- include: base
-- include: leave_waiting
-- include: erase
-- include: finish
-- include: needs
-- include: end_links
-- include: retention
-- include: flush
local outcomes, erased, is_erased = {}, {}, {}
call('HDEL', META, '')

-- Handles the links of an ended operation.
local function remove_links(id, head, state)
  if stored_state_of(head) ~= state then
    -- A cancel of the queue has ended the operation, and no sweep has cleared it away yet, so its dependents were not
    -- notified.
    end_links(id, head, 'm')
  elseif state ~= 'f' then
    note_removals({ id })
    -- This call notifies as many dependents as it may; a sweep notifies the rest.
    local score = call('ZSCORE', OUTBOX, id)
    if score then
      call('ZREM', OUTBOX, id)
      note_ended_dependency(id, end_of_outbox_score(score))
    end
  end
  call('UNLINK', needs_key(id))
end

local function remove(id)
  local head = not is_erased[id] and head_of(id)
  if not head then return '0' end
  local state = state_of(head)
  if state == 'x' then return 'x' end
  if find('fdce', state, 1, true) then
    leave_ended(id, head, state)
    if is_linked(head) then remove_links(id, head, state) end
  else
    leave_waiting(id, head)
    if is_linked(head) then end_links(id, head, 'm') end
    add('removed', 1)
  end
  erased[#erased + 1], is_erased[id] = id, true
  return '1'
end

for i = 2, #ARGV do outcomes[i - 1] = remove(ARGV[i]) end
if #erased > 0 then
  -- Operations that wait for these are notified while the records exist.
  go_on()
  erase(erased)
  note_change('remove', ARGV[1], #erased, '', erased[1])
end
flush()
return concat(outcomes)
