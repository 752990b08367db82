-- Groups. A group is an operation that never runs. A group is blocked as long as it is open or has members that have
-- not ended; then it ends by itself, see group_rules.lua. The members of a group are its dependencies with the policy
-- `member`. Extras of a group:
--   group           what becomes of it if its opener is silent, and after how many ms ("close 60000")
--   misses          how many members have ended otherwise than finished
--   deathCallbacks  its callbacks with the policy `death`
--   deathSeen       whether a member is dead or has been
-- A member has its groups of the same queue in the field `groups`.
-- Only calls with groups need these functions, so one function makes them, and not each run of the script.
-- include: add_needs
-- include: enter_queue
-- include: leave_waiting
-- include: leave_blocked
-- include: outboxes
-- include: remote
-- include: set_linked
-- include: extras
local members_of_groups
local function group_members()
  if members_of_groups then return members_of_groups end
  local members, CANCEL_AGAIN, CLIMBS = { IN_ALL = 100000 }, 10000, 200
  members_of_groups = members
  -- How many members each group still takes, the groups that this call has renewed, and how many it has opened again.
  local room, is_renewed, climbs = {}, {}, 0

  -- Returns the settings of a group; nil = the operation is not a group.
  function members.group_of(id, head) return is_linked(head) and call('HGET', extras_key(id), 'group') or nil end

  -- Gives a group's opener another lease of time, because it has called.
  function members.renew(id, group)
    local lease = tonumber(string.match(group, '%d+$'))
    if lease > 0 and call('HEXISTS', needs_key(id), OPEN) == 1 then call('ZADD', ASKING, format('%d', now + lease), '+' .. id) end
  end

  function members.open(id, group)
    call('HSET', extras_key(id), 'group', group)
    members.renew(id, group)
  end

  -- Whether a group takes members. A blocked group does, and so does a dead one, because a member that is tried again
  -- may add others. A cancelled group does not.
  function members.may_enter(id, head)
    local state = state_of(head)
    return (state == 'b' or state == 'd') and not has_cancel(id)
  end

  -- Returns the first of these groups that takes no more members.
  function members.first_without_room(ids)
    for i = 1, #ids do
      local id = ids[i]
      local head = not room[id] and head_of(id)
      local takes = head and members.group_of(id, head) and members.may_enter(id, head)
      if takes then room[id] = members.IN_ALL - call('HLEN', needs_key(id)) end
      if (room[id] or 0) <= 0 then return id end
    end
  end

  -- Opens a dead group again, as blocked. The new sequence makes its next end count. The groups that contain it open
  -- again as well, for the first 200 groups of a call; other groups stay dead until its next end.
  function members.open_again(id, head)
    if state_of(head) ~= 'd' then return end
    leave_ended(id, head, 'd')
    take_back_end(id)
    enter_needing(id, with_sequence(head, call('HINCRBY', META, 'sequence', 1)))
    add('notEnqueued', 1)
    add('reopened', 1)
    climbs = climbs + 1
    if climbs <= CLIMBS then members.wait_for_retry(id) end
  end

  -- Makes a group wait again for a member that was enqueued again or is tried again.
  local function wait_again(group, id, before)
    call('HSET', needs_key(group), id, need_of('member', '-'))
    if before == '-' then return end
    call('HINCRBY', extras_key(group), 'unmet', '1')
    group_rules().note_member_end(group, before, 'f')
  end

  -- Opens a group again that has received an end of this member, if it takes members.
  local function wait_for_member(group, name)
    local head, policy, before = head_of(group), read_need(call('HGET', needs_key(group), name))
    if head and policy == 'member' and is_end(before) and members.may_enter(group, head) then
      members.open_again(group, head)
      wait_again(group, name, before)
    end
  end

  -- A new operation of this queue becomes a member. An operation with its id may have been one before.
  function members.enter(id, header, group)
    if not is_renewed[group] then
      local head = head_of(group)
      members.open_again(group, head)
      members.renew(group, members.group_of(group, head))
      is_renewed[group] = true
    end
    room[group] = room[group] - 1
    local policy, before = read_need(call('HGET', needs_key(group), id))
    wait_again(group, id, policy and before or 'f')
    group_rules().note_group(id, group)
    call('HSET', extras_key(id), 'dependents', '1')
    call('ZADD', dependents_key(id), format('%.0f', sequence_of(header) - 1), group)
  end

  -- A member is tried again, or is a group that is open again. The groups of this queue that it is in wait for it
  -- again.
  function members.wait_for_retry(id)
    for group in string.gmatch(call('HGET', extras_key(id), 'groups') or '', '%w+') do wait_for_member(group, id) end
  end

  -- A member in another queue is tried again. The first 100 of its dependents wait for it again.
  function members.wait_for_remote(name)
    for _, group in ipairs(call('ZRANGE', dependents_key(name), '0', '99')) do wait_for_member(group, name) end
  end

  function members.close(id)
    if call('HDEL', needs_key(id), OPEN) == 0 then return end
    call('HINCRBY', extras_key(id), 'unmet', '-1')
    leave_blocked(id)
  end

  -- The group of a run has no members. The group finishes with that run, and operations that the body has enqueued for
  -- its end depend on the group. Returns whether the worker holds the run, and the group that the run has already.
  function members.holds_run(run)
    local worker, fence, id = string.match(run, '^(%S+) (%d+) (%w+)$')
    local element = call('HGET', PREFIX .. 'inflight:' .. worker, fence)
    local known = element and call('HGET', extras_key(id), 'runGroup')
    if known then return true, known end
    return element and id_of(element) == id and is_reference(element) and head_of(id) ~= nil
  end

  function members.open_run(id, run)
    local parent = string.match(run, '%w+$')
    call('HSET', extras_key(id), 'group', 'cancel 0')
    call('HSET', extras_key(parent), 'runGroup', id)
    set_linked(parent, head_of(parent))
  end

  -- Cancels a group: it takes no more members, and ends when its members have ended. Returns whether it has ended;
  -- until then workers cancel its members.
  function members.cancel(id, by, reason)
    if not has_cancel(id) then keep_cancel(id, NOW, by, reason) end
    members.close(id)
    leave_blocked(id)
    if state_of(head_of(id)) ~= 'b' then return true end
    call('ZADD', ASKING, format('%d', now + CANCEL_AGAIN), '+' .. id)
    return false
  end

  return members
end
