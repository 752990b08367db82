-- A new operation depends on others.
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

-- `said` is what its queue has said of it: see add_after. It may have ended since, and this queue may have heard of that. What this queue hears first by
-- this, others that wait for it hear as well.
local function read_remote_need(name, said, policy)
  if said.state == '?' and policy ~= 'member' then return nil, id_of_name(name) end
  local last, ended, is_new = hear_of(name, said.sequence, said.state)
  if is_new then note_ended_dependency(name, last, ended) end
  -- A group waits for members that are about to be enqueued. Of what was removed before, the end is not theirs.
  if said.state == '?' and ended ~= 'f' then return { id = name, state = '-', heard = (ended == 'm' or not ended) and last or last - 1 } end
  if ended and (is_end(said.state) or last >= said.sequence) then return { id = name, state = ended, heard = last } end
  return { id = name, state = '-', heard = max(said.sequence - 1, last) }
end

-- So many callbacks start with the first death of a group.
local DEATH_CALLBACKS = 8

-- What it is for a group is not needed any more, or the operation is no group.
local function is_needless(need, policy)
  if policy == 'death' then
    local about = call('HMGET', extras_key(need.id), 'group', 'deathCallbacks')
    return is_end(need.state) or not about[1] or #(about[2] or '') >= DEATH_CALLBACKS * 27 - 1
  end
  return policy == 'success' and is_end(need.state) and need.state ~= 'f' and need.state ~= 'd'
end

-- What it depends on, of pairs of a name and a policy; in the field `unmet` how many it has to wait for, and in `failed` the first one because of which
-- it ends at once. Or nil and the id of one that is not there.
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

-- Its producer will say more of what it depends on: until then it does not start.
local function leave_open(id)
  call('HSET', needs_key(id), OPEN, need_of('hold', '-'))
  call('HINCRBY', extras_key(id), 'unmet', '1')
end

-- Of what has its record, and is blocked if it has to wait.
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
