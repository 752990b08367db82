-- Operations that wait for an ended one continue before the call ends: the next one at its unique key, and its
-- dependents. A call notifies at most RESOLVED_AT_ONCE dependents, of EDGES_AT_ONCE ends in all; a sweep notifies the
-- others.
-- include: cancel_waiting
-- include: leave_blocked
-- include: pass_keys
-- include: end_links
-- include: keep_input
-- include: group_rules
local RESOLVED_AT_ONCE = 50
local EDGES_AT_ONCE = 500
local left_to_resolve, edges_left = RESOLVED_AT_ONCE, EDGES_AT_ONCE
local function limit_resolving(most) left_to_resolve = most end

-- Finds dependents that have not received an end, as many as this call may notify. `ends` gathers the dependencies of
-- each dependent, and how each ended. If dependents are left, the outbox keeps the dependency, even without its record.
-- Returns whether some are left.
local function note_ends(dependency, sequence, state, ends)
  local before, most = format('(%.0f', sequence), min(edges_left, left_to_resolve + #ends) + 1
  local dependents = call('ZRANGEBYSCORE', dependents_key(dependency), '-inf', before, 'LIMIT', '0', format('%d', most))
  for i = 1, #dependents do
    local id = dependents[i]
    if edges_left == 0 or (not ends[id] and left_to_resolve == 0) then
      call('ZADD', OUTBOX, outbox_score(sequence, state), dependency)
      return true
    end
    edges_left = edges_left - 1
    if not ends[id] then
      left_to_resolve = left_to_resolve - 1
      ends[id] = { ids = {}, states = {} }
      ends[#ends + 1] = id
    end
    local n = #ends[id].ids + 1
    ends[id].ids[n], ends[id].states[n] = dependency, state
  end
  return false
end

-- Notifies one dependent of ends. A dependent without the entry was released, or is gone. `heard` gathers the
-- dependents that have received each dependency's end.
local function hear(id, dependencies, states, heard)
  local needs, changed, met, failed = call('HMGET', needs_key(id), unpack(dependencies)), {}, 0, nil
  local is_regained, is_dropped
  for i = 1, #dependencies do
    local dependency, state = dependencies[i], states[i]
    local policy, before = read_need(needs[i])
    if not policy then
      call('ZREM', dependents_key(dependency), id)
    else
      heard[dependency] = heard[dependency] or {}
      table.insert(heard[dependency], id)
      if before ~= 'f' then
        changed[#changed + 1], changed[#changed + 2] = dependency, need_of(policy, state)
        if state == 'f' then keep_input(id, dependency) end
        if policy == 'member' then is_regained = group_rules().note_member_end(id, before, state) or is_regained end
      end
      if policy == 'death' or (policy == 'success' and (state == 'c' or state == 'e')) then is_dropped = true end
      if not is_met(before, policy) then
        if is_met(state, policy) then
          met = met + 1
        elseif not failed and (policy == 'cancel' or (policy == 'success' and state == 'm')) then
          failed = i
        end
      end
    end
  end
  if #changed > 0 then call('HSET', needs_key(id), unpack(changed)) end
  if met > 0 and call('HINCRBY', extras_key(id), 'unmet', format('%d', -met)) <= 0 then
    leave_blocked(id)
  elseif is_regained then
    group_rules().end_again(id)
  end
  if is_dropped then group_rules().drop_callback(id) end
  if failed then
    local head = head_of(id)
    if head and state_of(head) == 'b' then cancel_dependent(id, head, dependencies[failed], states[failed]) end
  end
end

-- Notifies dependents of these ends (id, sequence, letter, id, …). Returns whether some have not heard.
local function resolve(list)
  local ends, heard, is_left = {}, {}, false
  for i = 1, #list, 3 do is_left = note_ends(list[i], list[i + 1], list[i + 2], ends) or is_left end
  for i = 1, #ends do hear(ends[i], ends[ends[i]].ids, ends[ends[i]].states, heard) end
  for i = 1, #list, 3 do
    local ids, scores = heard[list[i]] or {}, {}
    for k = 1, #ids do scores[2 * k - 1], scores[2 * k] = format('%.0f', list[i + 1]), ids[k] end
    if #ids > 0 then call('ZADD', dependents_key(list[i]), unpack(scores)) end
    heard[list[i]] = nil
  end
  return is_left
end

local function go_on()
  begin_going_on()
  local is_left = false
  while freed or ended_dependencies do
    pass_keys()
    local list = take_ended_dependencies()
    if list then is_left = resolve(list) or is_left end
  end
  if rules_of_groups then rules_of_groups.erase_callbacks() end
  if take_new_outbox() or is_left then pcall('PUBLISH', CHANNELS .. 'control', 'outbox') end
end
later.go_on = go_on
