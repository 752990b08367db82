-- Changes the dependencies of an operation that has not started.
-- include: add_needs
-- include: leave_waiting
-- include: leave_blocked
-- include: set_linked
-- include: group_rules

-- Returns the pairs (name, policy) of `after` that the operation does not wait for with this policy, with the answers
-- of their queues; and the names among them that have another policy now.
local function names_missing(id, after)
  local missing, changed = {}, {}
  for i = 1, #after, 2 do
    local name = after[i]
    local policy, before = read_need(call('HGET', needs_key(id), name))
    -- A member that did not finish may have been enqueued again.
    local is_same = policy == after[i + 1] and not (policy == 'member' and is_end(before) and before ~= 'f')
    if policy and not is_same then changed[#changed + 1], changed[name] = name, true end
    if not is_same then
      missing[#missing + 1], missing[#missing + 2], missing[name] = name, after[i + 1], after[name]
    end
  end
  return missing, changed
end

-- Blocks a waiting operation because of new dependencies. The new revision makes a reference that stays in its lane
-- stale.
local function block_waiting(id)
  local head = head_of(id)
  if state_of(head) == 'b' then return end
  leave_waiting(id, head)
  write_head(record_key(id), 'b', changed_header(head, next_revision(head)))
  call('ZADD', PREFIX .. 'blocked', NOW, id)
  if deadline_of(head) then expire_at(id, deadline_of(head)) end
  event(id, 'b', true)
end

local function remove_need(id, name)
  local policy, before = read_need(call('HGET', needs_key(id), name))
  if not policy then return end
  call('HDEL', needs_key(id), name)
  call('ZREM', dependents_key(name), id)
  if not is_met(before, policy) then call('HINCRBY', extras_key(id), 'unmet', '-1') end
  if policy == 'member' then group_rules().note_member_end(id, before, 'f') end
end

-- Returns the new names, with a blank before each.
local function change_needs(id, needs, changed, gone, is_complete)
  local names = ''
  set_linked(id, head_of(id))
  for i = 1, #changed do remove_need(id, changed[i]) end
  if needs.unmet > 0 then block_waiting(id) end
  if #needs > 0 then add_needs(id, needs) end
  for i = 1, #needs do
    if not changed[needs[i].id] then names = names .. ' ' .. needs[i].id end
  end
  for i = 1, #gone do remove_need(id, gone[i]) end
  if is_complete then remove_need(id, OPEN) end
  leave_blocked(id)
  return names
end
