-- Notes that a client waits for these operations or follows them, and returns their states.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  waiter: each end and each progress is published in its channel, CHANNELS .. 'waiter:' .. WAITER
--          ARGV[2…] ids, at most 500
-- Output   a character for each: the letter of its state, 0 = no such operation
-- Events   none
-- include: base
-- include: record
local waiter, states = ARGV[1], {}
-- A removing command first: waiting must work when Redis is full.
call('HDEL', META, '')
local awaited = PREFIX .. 'awaited'
local TERMINAL = { f = true, d = true, c = true, e = true }
local old = call('ZRANGEBYSCORE', awaited, '-inf', now - AWAITED_MS, 'LIMIT', 0, 500)
if #old > 0 then call('ZREM', awaited, unpack(old)) end

local function wait_for(id)
  local waiters = call('HGET', extras_key(id), 'waiters') or ''
  if find(' ' .. waiters .. ' ', ' ' .. waiter .. ' ', 1, true) then return end
  -- The newest 8 waiters are notified; the others find out when they read again.
  local _, count = string.gsub(waiters, '%S+', '')
  if count >= 8 then waiters = string.gsub(waiters, '^%S+ ', '') end
  call('HSET', extras_key(id), 'waiters', waiters == '' and waiter or waiters .. ' ' .. waiter)
end

for i = 2, #ARGV do
  local head = head_of(ARGV[i])
  states[i - 1] = head and shown_state_of(head) or '0'
  if head then
    if not TERMINAL[states[i - 1]] then wait_for(ARGV[i]) end
    call('ZADD', awaited, now, ARGV[i])
  end
end
return concat(states)
