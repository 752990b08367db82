-- Looks at operations of other queues that operations of this queue depend on. Only operations that are due are looked
-- at. Returns those whose state must be asked for now, and forgets those without dependents.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     none
-- Output   1 if more are to be looked at now, then QUEUE/ID of each operation to ask for, and "cancel ID" of each group
--          whose members are to be cancelled
-- Events   those of open groups with silent openers
-- include: base
-- include: record
-- include: remote
-- include: finish
-- include: members
-- include: extras
-- include: flush
local AT_ONCE = 50
local DEPENDENTS = 20
local SECOND_ASK, NEXT_ASK, IDLE = 60000, 300000, 3600000
local LOOK_AGAIN = 10000
local reply = { 0 }

-- Looks at the first dependents. Returns their number, whether one of them still waits, and whether more may exist.
local function look_at_dependents(name)
  local ids, left, is_awaited = call('ZRANGE', dependents_key(name), '0', format('%d', DEPENDENTS - 1)), 0, false
  for i = 1, #ids do
    local policy, before = read_need(call('HGET', needs_key(ids[i]), name))
    if policy then
      left = left + 1
      local head = not is_met(before, policy) and head_of(ids[i])
      is_awaited = is_awaited or (head and state_of(head) == 'b')
    else
      call('ZREM', dependents_key(name), ids[i])
    end
  end
  return left, is_awaited, #ids == DEPENDENTS
end

local function look_at(name)
  local left, is_awaited, may_be_more = look_at_dependents(name)
  if may_be_more and left == 0 then return 0 end
  if left == 0 then
    call('DEL', remote_key(name))
    return nil
  end
  local about = call('HMGET', remote_key(name), 'state', 'asks')
  -- The set begins with dependents that were not notified of the last end. If none of them waits, the state is rarely
  -- asked for.
  if not is_awaited and (about[1] == 'f' or not may_be_more) then return IDLE end
  reply[#reply + 1] = name
  call('HSET', remote_key(name), 'asks', format('%d', (about[2] or 0) + 1))
  return about[2] and NEXT_ASK or SECOND_ASK
end

-- After an outage, the opener of a group has another lease of time. Until the first heartbeat after the outage, only
-- the time since `lastSeen` shows the outage.
local function is_outage(lease)
  local m = call('HMGET', META, 'leaseFloor', 'lastSeen', 'longestGap')
  local seen = tonumber(m[2] or now)
  return tonumber(m[1] or 0) + lease >= now or now < seen or (m[3] and now - seen > tonumber(m[3]))
end

-- Closes or cancels an open group whose opener was silent for its lease, and reports a cancelled group whose members
-- have not ended. Returns milliseconds until the next look; nil = none.
local function look_at_group(id)
  local head = head_of(id)
  local group = head and state_of(head) == 'b' and group_members().group_of(id, head)
  if not group then return nil end
  local if_abandoned, lease = string.match(group, '^(%a+) (%d+)$')
  if call('HEXISTS', needs_key(id), OPEN) == 1 then
    if is_outage(tonumber(lease)) then return LOOK_AGAIN end
    if if_abandoned == 'cancel' then
      group_members().cancel(id, 'worker', 'the opener of the group was silent for ' .. lease .. ' ms')
    else
      group_members().close(id)
    end
  end
  if not has_cancel(id) or state_of(head_of(id)) ~= 'b' then return nil end
  reply[#reply + 1] = 'cancel ' .. id
  return LOOK_AGAIN
end

call('HDEL', META, '')
local names = call('ZRANGEBYSCORE', ASKING, '-inf', NOW, 'LIMIT', '0', format('%d', AT_ONCE))
for i = 1, #names do
  local group = string.match(names[i], '^%+(%w+)$')
  local pause
  if group then pause = look_at_group(group) else pause = look_at(names[i]) end
  if pause then
    call('ZADD', ASKING, format('%d', now + pause), names[i])
  else
    call('ZREM', ASKING, names[i])
  end
end
reply[1] = #call('ZRANGEBYSCORE', ASKING, '-inf', NOW, 'LIMIT', '0', '1')
flush()
return reply
