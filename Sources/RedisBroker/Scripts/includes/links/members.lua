-- Groups. A group is an operation that never runs: it is blocked as long as it is open or members of it have not ended, and then it ends by itself, see
-- group_rules.lua. Its members are its needs, with the policy `member`. In its extras: `group`, what becomes of it if its opener is silent and for how long
-- that may be ("close 60000"), `misses`, how many members have ended otherwise than finished, and `deathCallbacks`.
-- What only calls with groups need is made by one function, and not with each run of the script.
-- include: add_needs
-- include: enter_queue
-- include: leave_waiting
-- include: leave_blocked
-- include: outboxes
-- include: remote
-- include: set_linked
local members_of_groups
local function group_members()
  if members_of_groups then return members_of_groups end
  local members = { IN_ALL = 100000 }
  members_of_groups = members
  -- Groups that this call has found to have room for what it may bring.
  local roomy = {}

  -- Its settings; nil = it is none.
  function members.group_of(id, head) return is_linked(head) and call('HGET', extras_key(id), 'group') or nil end

  -- Its opener is there.
  function members.renew(id, group)
    local lease = tonumber(string.match(group, '%d+$'))
    if lease > 0 and call('HEXISTS', needs_key(id), OPEN) == 1 then call('ZADD', ASKING, format('%d', now + lease), '+' .. id) end
  end

  function members.open(id, group)
    call('HSET', extras_key(id), 'group', group)
    members.renew(id, group)
  end

  -- While it is blocked, and after an end as dead: a member of it may be tried again, and add others. Not once it was cancelled.
  function members.may_enter(id, head)
    local state = state_of(head)
    return (state == 'b' or state == 'd') and call('HEXISTS', extras_key(id), 'cancelAt') == 0
  end

  -- The first of these groups that takes no more members.
  function members.first_without_room(ids)
    for i = 1, #ids do
      local id = ids[i]
      local head = not roomy[id] and head_of(id)
      local takes = head and members.group_of(id, head) and members.may_enter(id, head)
      roomy[id] = roomy[id] or (takes and call('HLEN', needs_key(id)) <= members.IN_ALL - BATCH)
      if not roomy[id] then return id end
    end
  end

  -- It has ended as dead, and is blocked again. The new sequence makes its next end count.
  function members.open_again(id, head)
    if state_of(head) ~= 'd' then return end
    leave_ended(id, head, 'd')
    take_back_end(id)
    enter_needing(id, with_sequence(head, call('HINCRBY', META, 'sequence', 1)))
    add('notEnqueued', 1)
    add('reopened', 1)
  end

  -- A new operation of this queue becomes a member.
  function members.enter(id, header, group)
    if roomy[group] ~= 'renewed' then
      local head = head_of(group)
      members.open_again(group, head)
      members.renew(group, members.group_of(group, head))
      roomy[group] = 'renewed'
    end
    call('HSET', needs_key(group), id, need_of('member', '-'))
    call('HINCRBY', extras_key(group), 'unmet', '1')
    call('HSET', extras_key(id), 'dependents', '1')
    call('ZADD', dependents_key(id), format('%.0f', sequence_of(header) - 1), group)
  end

  -- A group of a run has no members: it finishes with that run, and what its body has enqueued for then needs it. The worker holds the run.
  function members.holds_run(run)
    local worker, fence, id = string.match(run, '^(%S+) (%d+) (%w+)$')
    local element = call('HGET', PREFIX .. 'inflight:' .. worker, fence)
    return element and id_of(element) == id and is_reference(element) and head_of(id) ~= nil
  end

  function members.open_run(id, run)
    local parent = string.match(run, '%w+$')
    call('HSET', extras_key(id), 'group', 'cancel 0')
    call('HSET', extras_key(parent), 'runGroup', id)
    set_linked(parent, head_of(parent))
  end

  -- It takes no more members, and ends when those that it has have ended. Returns whether it has.
  function members.cancel(id, by, reason)
    if call('HEXISTS', extras_key(id), 'cancelAt') == 0 then note_requester(id, by, reason) end
    if call('HDEL', needs_key(id), OPEN) == 1 then call('HINCRBY', extras_key(id), 'unmet', '-1') end
    leave_blocked(id)
    return state_of(head_of(id)) ~= 'b'
  end

  return members
end
