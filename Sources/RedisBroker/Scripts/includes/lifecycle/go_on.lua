-- What waits for something that has ended goes on before the call ends: the next one at its unique key, and what depends on it. Of a dependency that
-- ended, RESOLVED_AT_ONCE dependents a call hear; the others at a sweep.
-- include: cancel_waiting
-- include: leave_blocked
-- include: pass_keys
-- include: end_links
-- include: keep_input
local RESOLVED_AT_ONCE = 50
local left_to_resolve = RESOLVED_AT_ONCE

-- One dependent hears of an end. What has no such need any more was released, or is gone. `heard` gathers the others.
local function resolve_one(dependent, dependency, state, result, heard)
  local policy, before = read_need(call('HGET', needs_key(dependent), dependency))
  if not policy then
    call('ZREM', dependents_key(dependency), dependent)
    return
  end
  heard[#heard + 1] = dependent
  if is_met(before, policy) then return end
  call('HSET', needs_key(dependent), dependency, need_of(policy, state))
  if is_met(state, policy) then
    keep_input(dependent, dependency, result)
    if call('HINCRBY', extras_key(dependent), 'unmet', '-1') <= 0 then leave_blocked(dependent) end
  elseif policy == 'cancel' then
    local head = head_of(dependent)
    if head and state_of(head) == 'b' then cancel_dependent(dependent, head, dependency, state) end
  end
end

-- The outbox keeps a dependency as long as dependents have not heard, also without its record. Returns whether there are such.
local function resolve(dependency, sequence, state)
  local before = format('(%.0f', sequence)
  local dependents = call('ZRANGEBYSCORE', dependents_key(dependency), '-inf', before, 'LIMIT', '0', format('%d', left_to_resolve + 1))
  local count = min(#dependents, left_to_resolve)
  left_to_resolve = left_to_resolve - count
  local result = count > 0 and state == 'f' and call('HGET', extras_key(dependency), 'result')
  local heard, scores = {}, {}
  for i = 1, count do resolve_one(dependents[i], dependency, state, result, heard) end
  for i = 1, #heard do scores[2 * i - 1], scores[2 * i] = format('%.0f', sequence), heard[i] end
  if #heard > 0 then call('ZADD', dependents_key(dependency), unpack(scores)) end
  if #dependents > count then
    call('ZADD', OUTBOX, outbox_score(sequence, state), dependency)
  end
  return #dependents > count
end

local function resolve_ended()
  local list, i, is_left = ended_dependencies, 1, false
  while list[i] do
    is_left = resolve(list[i], list[i + 1], list[i + 2]) or is_left
    i = i + 3
  end
  ended_dependencies = nil
  if is_left then pcall('PUBLISH', CHANNELS .. 'control', 'outbox') end
end

function go_on()
  will_go_on = false
  while freed or ended_dependencies do
    pass_keys()
    if ended_dependencies then resolve_ended() end
  end
end
