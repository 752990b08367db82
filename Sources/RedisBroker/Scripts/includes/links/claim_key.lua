-- A new operation with a unique key gets the key, waits for it, or is not enqueued because another operation has it.
-- include: behind
-- include: cancel_one
-- include: expire
-- include: pass_keys
local SUPERSEDED_AT_ONCE = 100

-- Ends an operation that waits beyond its deadline. Returns whether it did; at most EXPIRED_BY_CALL in a call.
local EXPIRED_BY_CALL = 100
local expiries_left = EXPIRED_BY_CALL
local function has_expired(id, head)
  local deadline = head and deadline_of(head)
  if not deadline or deadline > now or expiries_left == 0 then return false end
  expiries_left = expiries_left - 1
  return find('rsb', state_of(head), 1, true) and expire(id, head) ~= nil
end

-- Returns the holder of a key: its id, its state (also f: a fresh result, and !: its body may still run after a forced
-- cancel), its head; nil = the key is free. A holder that has ended or has no record frees the key. A holder that waits
-- beyond its deadline ends, and the next operation gets the key.
local function holder_of(key)
  local id, rest = read_holder(key)
  if not id then return nil end
  if rest == '' then
    local head = head_of(id)
    if has_expired(id, head) then
      pass_keys()
      return holder_of(key)
    end
    -- The record is gone, so the operations that wait come first.
    if not head and #behind(key, '1') > 0 then
      note_freed(key, id)
      pass_keys()
      return holder_of(key)
    end
    local state = head and state_of(head)
    return state and find('rstbx', state, 1, true) and id, state, head
  end
  local worker = string.match(rest, '^!(.*)$')
  if worker then return call('ZSCORE', PREFIX .. 'leases', worker) and id, '!' end
  -- A removed or trimmed result no longer holds the key.
  return tonumber(rest) > now and head_of(id) and id, 'f'
end

-- Whether the holder was asked to end, or has ended.
local function is_stopping(state, head)
  if state ~= 'x' then return state == '!' end
  local fence, worker = format('%d', fence_of(head)), worker_of(head)
  return is_cancelled(fence, worker and call('HGET', PREFIX .. 'cancelling:' .. worker, fence))
end

local function supersede(id, by_id, key)
  local head = head_of(id)
  if not head then
    call('ZREM', behind_key(key), id)
    return
  end
  if stored_state_of(head) == 'x' then
    local worker = worker_of(head)
    if worker then cancel_executing_one(id, head, worker, 'unique', 'replaced by ' .. by_id) end
  else
    cancel_waiting_one(id, head, 'unique', 'replaced by ' .. by_id)
  end
end

-- Supersedes all operations that wait for the key. Returns false if they are too many for one call; none has changed
-- then.
local function supersede_behind(key, by_id)
  local ids = behind(key, format('%d', SUPERSEDED_AT_ONCE + 1))
  if #ids > SUPERSEDED_AT_ONCE then return false end
  for i = 1, #ids do supersede(ids[i], by_id, key) end
  return true
end

local function give_key(key, id)
  call('HSET', UNIQUE, key, id)
  return 'start'
end

local function last_behind(key)
  local last = call('ZREVRANGE', behind_key(key), 0, 0)[1]
  local head = last and head_of(last)
  if has_expired(last, head) then return last_behind(key) end
  return head and state_of(head) == 'b' and last
end

local function yields(policy) return policy == 'join' or policy == 'skip' end

-- Returns 'start', 'wait', 'many' (it would supersede too many), or 'taken' and the id of the operation that has the
-- key or waits for it. `policy`: see OperationLinks.swift.
local function claim_key(key, policy, id)
  local holder, state, head = holder_of(key)
  if not holder then return give_key(key, id) end
  if state == 'f' then
    if yields(policy) then return 'taken', holder end
    return give_key(key, id)
  end
  if yields(policy) then
    local last = last_behind(key)
    if last or not is_stopping(state, head) then return 'taken', last or holder end
    return 'wait'
  end
  if policy == 'enqueue' then return 'wait' end
  if not supersede_behind(key, id) then return 'many' end
  if state ~= 'x' and state ~= '!' then
    supersede(holder, id, key)
    return give_key(key, id)
  end
  if policy == 'replace' and state == 'x' then supersede(holder, id, key) end
  return 'wait'
end

-- Gives an ended operation its unique key, for another try. Returns whether it may be in flight again, else also the
-- holder of the key.
local function reclaim_key(id)
  local key = call('HGET', extras_key(id), 'unique')
  if not key then return true end
  local holder, state = holder_of(key)
  if holder and state ~= 'f' and holder ~= id then return false, holder end
  if state == '!' then return false, holder end
  give_key(key, id)
  call('ZREM', behind_key(key), id)
  return true
end
