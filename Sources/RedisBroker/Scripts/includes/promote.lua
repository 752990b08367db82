-- Moves what is due to the tails of the lanes, and ends what was not started in time; both bounded.
local function promote_from(place, state)
  local key = PREFIX .. place
  local due = call('ZRANGEBYSCORE', key, '-inf', now, 'WITHSCORES', 'LIMIT', 0, PROMOTE_LIMIT)
  for i = 1, #due, 2 do
    local id = due[i]
    call('ZREM', key, id)
    local head = head_of(id)
    if head and sub(head, 65, 65) == state then
      local header = sub(head, 1, 9) .. time36(tonumber(due[i + 1])) .. sub(head, 19, 64)
      call('SETRANGE', record_key(id), 0, header .. 'r')
      call('RPUSH', PREFIX .. 'lane:' .. sub(head, 3, 3), header)
      event(id, 'r', true)
    end
  end
end

local function expire_due()
  local key = PREFIX .. 'expiring'
  local ids = call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, PROMOTE_LIMIT)
  for i = 1, #ids do
    local id = ids[i]
    call('ZREM', key, id)
    local head = head_of(id)
    local state = head and sub(head, 65, 65)
    if state == 'r' or state == 's' then
      if state == 's' then call('ZREM', PREFIX .. 'scheduled', id) else add('ghosts', 1) end
      end_record(id, head, 'e', sub(head, 5, 7), next_revision(sub(head, 4, 4)))
    end
  end
end

local function promote()
  promote_from('scheduled', 's')
  promote_from('retrying', 't')
  expire_due()
end

-- The instant of the next thing to promote, or nil.
local function next_due()
  local earliest
  for _, place in ipairs({ 'scheduled', 'retrying', 'expiring' }) do
    local first = call('ZRANGE', PREFIX .. place, 0, 0, 'WITHSCORES')[2]
    if first and (not earliest or tonumber(first) < earliest) then earliest = tonumber(first) end
  end
  return earliest
end
