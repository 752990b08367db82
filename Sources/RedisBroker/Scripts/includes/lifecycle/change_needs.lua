-- What an operation waits for changes before it starts.
-- include: add_needs
-- include: leave_waiting
-- include: leave_blocked
-- include: set_linked

-- Those of these pairs (name, policy) that it does not wait for already, with what is said of them.
local function names_missing(id, after)
  local missing = {}
  for i = 1, #after, 2 do
    local name = after[i]
    if call('HEXISTS', needs_key(id), name) == 0 then
      missing[#missing + 1], missing[#missing + 2], missing[name] = name, after[i + 1], after[name]
    end
  end
  return missing
end

-- It waits, and needs others from now on. The new revision makes a reference that stays in its lane stale.
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
end

local function change_needs(id, needs, gone, is_complete)
  set_linked(id, head_of(id))
  if needs.unmet > 0 then block_waiting(id) end
  if #needs > 0 then add_needs(id, needs) end
  for i = 1, #gone do remove_need(id, gone[i]) end
  if is_complete then remove_need(id, OPEN) end
  leave_blocked(id)
end
