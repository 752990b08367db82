-- Changes waiting operations: the priority, the time for which they wait, or the envelope.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word); then for each operation, at most 100: id, header and envelope as the caller has read them,
--          lane ('' = as it was), delay from now in ms ('' = as it was), new envelope ('' = as it was)
-- Output   a character for each: 1 changed, ~ it has changed since the caller read it, the letter of the state that
--          forbids it, 0 unknown
-- Events   s or t for each that waits for another time now, with the change
-- include: base
-- include: size
-- include: expire
-- include: leave_waiting
-- include: enter_queue
-- include: replace_envelope
-- include: extras
-- include: flush
local outcomes, largest, changed, last_changed = {}, 0, 0, nil

-- Moves an operation, or keeps it in its place, with a new revision: a reference that stays in a lane is stale.
local function move(id, head, lane, delay)
  local state, header = stored_state_of(head), changed_header(head, next_revision(head))
  if lane ~= '' then header = with_lane(header, lane) end
  if state == 'b' then
    if delay ~= '' then
      header = changed_header(header, nil, nil, nil, time36(now + tonumber(delay)))
      hold_for_a_time(id)
    end
    stay_waiting(id, 'b', header)
    return
  elseif delay ~= '' then
    leave_waiting(id, head)
    enter_set(id, header, state == 't' and 't' or 's', now + tonumber(delay))
  elseif state == 's' or state == 't' then
    stay_waiting(id, state, header)
    return
  else
    leave_waiting(id, head)
    enter_lane(id, header)
  end
  if deadline_of(header) then expire_at(id, deadline_of(header)) end
end

local function edit(i)
  local id, header, envelope, lane, delay, new = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local head = head_in_time(id)
  if not head then return '0' end
  local state = state_of(head)
  if not find('rstb', state, 1, true) then return state end
  if header_of(head) ~= header then return '~' end
  if new ~= '' and not replace_envelope(id, head, envelope, new) then return '~' end
  if lane ~= '' or delay ~= '' then move(id, head, lane, delay) end
  largest, changed, last_changed = max(largest, bytes_of_record(id)), changed + 1, id
  return '1'
end

for i = 2, #ARGV, 6 do outcomes[#outcomes + 1] = edit(i) end
note_large(largest)
if changed > 0 then note_change('edit', ARGV[1], changed, '', last_changed) end
flush()
return concat(outcomes)
