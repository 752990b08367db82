-- A new operation depends on others of its queue.
-- include: needs
-- include: keep_input
-- include: set_linked
-- include: cancel_waiting

-- What it depends on, of pairs of an id and a policy; in the field `unmet` how many it has to wait for, and in `failed` the first one because of which
-- it ends at once. Or nil and the id of one that has no record.
local function read_needs(after)
  local needs = { unmet = 0 }
  for i = 1, #after, 2 do
    local id, policy = after[i], after[i + 1]
    local head = head_of(id)
    if not head then return nil, id end
    local need = { id = id, policy = policy, head = head, state = state_of(head) }
    needs[#needs + 1] = need
    if not is_met(need.state, policy) then
      needs.unmet = needs.unmet + 1
      if policy == 'cancel' and is_end(need.state) then needs.failed = needs.failed or need end
    end
  end
  return needs
end

-- Of what has its record, and is blocked if it has to wait.
local function add_needs(id, needs)
  for i = 1, #needs do
    local need = needs[i]
    call('HSET', needs_key(id), need.id, need_of(need.policy, need.state))
    call('ZADD', dependents_key(need.id), is_end(need.state) and format('%.0f', sequence_of(need.head)) or '0', id)
    call('HSET', extras_key(need.id), 'dependents', '1')
    set_linked(need.id, need.head)
    if need.state == 'f' then keep_input(id, need.id) end
  end
  call('HSET', extras_key(id), 'unmet', format('%d', needs.unmet))
  if needs.failed then cancel_dependent(id, head_of(id), needs.failed.id, needs.failed.state) end
end
