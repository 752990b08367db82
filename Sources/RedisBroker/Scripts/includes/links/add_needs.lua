-- Reads the dependencies of an operation, and adds them.
-- include: needs
-- include: remote
-- include: end_links
-- include: keep_input
-- include: set_linked
-- include: cancel_waiting
-- include: group_rules

local function read_own_need(id)
  local head = head_of(id)
  if not head then return nil, id end
  local state = state_of(head)
  return { id = id, head = head, state = state, heard = is_end(state) and sequence_of(head) or sequence_of(head) - 1 }
end

-- Reads a dependency in another queue. `said` is the answer of that queue: see add_after(). The dependency may have
-- ended since, and this queue may have received the end. An end that arrives with `said` is also reported to other
-- operations that wait for it.
local function read_remote_need(name, said, policy)
  if said.state == '?' and policy ~= 'member' then return nil, id_of_name(name) end
  local last, ended, is_new = hear_of(name, said.sequence, said.state)
  if is_new then note_ended_dependency(name, last, ended) end
  -- A group waits for members that are about to be enqueued. The end of a removed operation with the id of a member
  -- does not count as the member's end.
  if said.state == '?' and ended ~= 'f' then return { id = name, state = '-', heard = (ended == 'm' or not ended) and last or last - 1 } end
  if ended and (is_end(said.state) or last >= said.sequence) then return { id = name, state = ended, heard = last } end
  return { id = name, state = '-', heard = max(said.sequence - 1, last) }
end

-- At most this many callbacks start with the first death in a group.
local DEATH_CALLBACKS = 8

-- Whether a callback of a group is needless: the group has ended in a way that never starts it. For the policy `death`
-- also if the dependency is not a group, or has as many such callbacks as it may.
local function is_needless(need, policy)
  if policy == 'death' then
    local about = call('HMGET', extras_key(need.id), 'group', 'deathCallbacks')
    return is_end(need.state) or not about[1] or #(about[2] or '') >= DEATH_CALLBACKS * 27 - 1
  end
  return policy == 'success' and is_end(need.state) and need.state ~= 'f' and need.state ~= 'd'
end

-- Reads dependencies, pairs of a name and a policy. The field `unmet` counts those that the operation has to wait for;
-- `failed` is the first one that ends it at once. Or returns nil and the id of an unknown dependency.
local function read_needs(after)
  local needs = { unmet = 0 }
  for i = 1, #after, 2 do
    local name, policy = after[i], after[i + 1]
    local need, unknown
    if is_remote(name) then need, unknown = read_remote_need(name, after[name], policy) else need, unknown = read_own_need(name) end
    if not need then return nil, unknown end
    need.policy = policy
    if is_needless(need, policy) then needs.needless = id_of_name(name) end
    if policy == 'death' and call('HEXISTS', extras_key(need.id), 'deathSeen') == 1 then need.state = SEEN end
    needs[#needs + 1] = need
    if not is_met(need.state, policy) then
      needs.unmet = needs.unmet + 1
      if policy == 'cancel' and is_end(need.state) then needs.failed = needs.failed or need end
    end
  end
  return needs
end

-- Keeps an operation from starting until its producer has said all that it depends on.
local function leave_open(id)
  call('HSET', needs_key(id), OPEN, need_of('hold', '-'))
  call('HINCRBY', extras_key(id), 'unmet', '1')
end

-- Adds the dependencies of an operation that has its record, and that is blocked if it has to wait.
local function add_needs(id, needs)
  for i = 1, #needs do
    local need = needs[i]
    call('HSET', needs_key(id), need.id, need_of(need.policy, need.state))
    if need.policy == 'death' and need.state ~= SEEN then group_rules().note_death_callback(need.id, id) end
    if need.policy == 'member' and need.head then group_rules().note_group(need.id, id) end
    call('ZADD', dependents_key(need.id), format('%.0f', need.heard), id)
    if need.head then
      call('HSET', extras_key(need.id), 'dependents', '1')
      set_linked(need.id, need.head)
    elseif not is_met(need.state, need.policy) then
      ask_soon(need.id)
    end
    if need.state == 'f' then keep_input(id, need.id) end
  end
  call('HINCRBY', extras_key(id), 'unmet', format('%d', needs.unmet))
  for i = 1, #needs do
    if needs[i].policy == 'member' then group_rules().note_member_end(id, '-', needs[i].state) end
  end
  if needs.failed then cancel_dependent(id, head_of(id), needs.failed.id, needs.failed.state) end
end
