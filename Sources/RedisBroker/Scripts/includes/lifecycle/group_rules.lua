-- How groups end, and their callbacks. A group is cancelled if it was cancelled, finished if all members have finished,
-- else dead; see members.lua. A callback depends on its group, with one of two policies:
--   success  The callback starts when the group has finished, and waits while the group is dead, since members may be
--            tried again. The callback is removed if the group is cancelled or expires, and cancelled if the group is
--            removed.
--   death    The callback starts when the first member is dead, and is removed if the group ends without a dead member.
-- Only calls with groups need these functions, so one function makes them, and not each run of the script.
-- include: end_operation
-- include: later
-- include: leave_waiting
-- include: outboxes
-- include: erase
-- include: extras
local rules_of_groups
local function group_rules()
  if rules_of_groups then return rules_of_groups end
  local rules, needless = {}, {}
  rules_of_groups = rules

  local function end_of_group(id)
    if has_cancel(id) then return 'c' end
    return tonumber(call('HGET', extras_key(id), 'misses') or 0) > 0 and 'd' or 'f'
  end

  -- Ends a group that is closed and whose members have all ended.
  function rules.end_group(id, head)
    leave_waiting(id, head)
    finish(id, head, end_of_group(id), failures_of(head))
  end

  -- Ends a dead group as finished, if the last missing member has finished after another try. The new sequence makes
  -- this end count.
  function rules.end_again(id)
    local head = head_of(id)
    if not head or stored_state_of(head) ~= 'd' or end_of_group(id) ~= 'f' then return end
    if forget_end(id, 'd') then add('dead', 1) else leave_ended(id, head, 'd') end
    take_back_end(id)
    add('notEnqueued', 1)
    add('reopened', 1)
    finish(id, with_sequence(head, call('HINCRBY', META, 'sequence', 1)), 'f', failures_of(head))
  end

  -- Unblocks the group of a run that has ended. Operations that the body has enqueued for its end start if the run has
  -- completed; otherwise they are removed.
  function rules.end_run(id, group, is_completed)
    call('HDEL', extras_key(id), 'runGroup')
    local head = head_of(group)
    if not head or state_of(head) ~= 'b' or call('HDEL', needs_key(group), OPEN) == 0 then return end
    call('HINCRBY', extras_key(group), 'unmet', '-1')
    if not is_completed then keep_cancel(group, NOW, 'run', 'the run that enqueued it ended without finishing') end
    later.leave_blocked(group)
  end

  local function add_word(key, field, word)
    local words = call('HGET', key, field)
    if words and find(words, word, 1, true) then return end
    call('HSET', key, field, words and words .. ' ' .. word or word)
  end

  function rules.note_group(id, group) add_word(extras_key(id), 'groups', group) end
  function rules.note_death_callback(group, id) add_word(extras_key(group), 'deathCallbacks', id) end

  local function start_death_callbacks(group)
    call('HSET', extras_key(group), 'deathSeen', '1')
    local ids = call('HGET', extras_key(group), 'deathCallbacks')
    if not ids then return end
    call('HDEL', extras_key(group), 'deathCallbacks')
    for id in string.gmatch(ids, '%w+') do
      if call('HDEL', needs_key(id), group) == 1 then
        call('ZREM', dependents_key(group), id)
        call('HINCRBY', extras_key(id), 'unmet', '-1')
        later.leave_blocked(id)
      end
    end
  end

  local function is_miss(state) return is_end(state) and state ~= 'f' end

  -- Notes that a member's last end was `before` and is now `state`. Returns whether the member had ended otherwise than
  -- finished, and no longer counts as such.
  function rules.note_member_end(group, before, state)
    local misses = (is_miss(state) and 1 or 0) - (is_miss(before) and 1 or 0)
    if misses ~= 0 then call('HINCRBY', extras_key(group), 'misses', format('%d', misses)) end
    if state == 'd' then start_death_callbacks(group) end
    return misses < 0
  end

  -- Removes a callback that the end of its group makes needless. The callback is erased at the end of the call.
  function rules.drop_callback(id)
    local head = head_of(id)
    if not head or state_of(head) ~= 'b' then return end
    leave_waiting(id, head)
    end_links(id, head, 'm')
    needless[#needless + 1] = id
  end

  function rules.erase_callbacks()
    if #needless == 0 then return end
    erase(needless)
    add('removed', #needless)
    needless = {}
  end

  return rules
end

function later.end_run(id, group, is_completed) group_rules().end_run(id, group, is_completed) end
