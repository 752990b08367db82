-- Checks operations by their ids: every record is in the place that it names, and no data stays without a record.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  codes of findings to fix, each between blanks
-- ARGV[2…] ids, at most 500; QUEUE/ID for operations of other queues
-- Output   findings, then id and head of each record whose reference should be in a lane: this script does not search
--          lanes
-- Events   r for each operation that a fix puts back, and r, s or c for dependents of a missing operation; without
--          codes to fix nothing changes
-- include: base
-- include: record
-- include: audit
-- include: limit_key_names
-- include: enter_queue
-- include: remote
-- include: outboxes
-- include: finish
-- include: flush
-- A removing command first: a fix must work when Redis is full.
if ARGV[1] ~= '' then call('HDEL', META, '') end
local ready = {}

local function check_set(id, head, place, score)
  if call('ZSCORE', PREFIX .. place, id) then return end
  finding('lost', id, 'its record says ' .. name_of(stored_state_of(head)) .. ', but it is not in ' .. place,
    'put it there again', { zadd, PREFIX .. place, format('%.0f', score), id })
end

-- Looks at the worker with the number in the record. If no worker has that number, all are searched, up to 1,000.
local function is_held(worker, fence)
  if worker then return call('HEXISTS', PREFIX .. 'inflight:' .. worker, fence) == 1 end
  for _, other in ipairs(call('ZRANGE', PREFIX .. 'leases', 0, 999)) do
    if call('HEXISTS', PREFIX .. 'inflight:' .. other, fence) == 1 then return true end
  end
  return false
end

-- Checks that a running operation counts for its limit key.
local function check_key(id, head)
  local key = has_limit_key(head) and call('HGET', extras_key(id), 'limitKey')
  if not key or call('SISMEMBER', PREFIX .. 'running:' .. key, id) == 1 then return end
  finding('counter', id, 'it runs, but limit key ' .. key .. ' does not count it, so too many of the key may run',
    'count it', { sadd, PREFIX .. 'running:' .. key, id })
end

-- Makes an operation ready that no worker holds. Its limit key no longer counts it.
local function recover_unheld(id, head)
  if has_limit_key(head) then limits_of_keys().stop(id) end
  enter_tail(id, changed_header(head, nil, nil, delivery_of(head) + 1, nil, ZERO9))
end

local function check_executing(id, head)
  check_key(id, head)
  local worker, fence = worker_of(head), format('%d', fence_of(head))
  if is_held(worker, fence) then return end
  finding('lost', id, 'its record says executing under fence ' .. fence .. ', but '
    .. (worker and worker .. ' does not hold it' or 'its worker is unknown'),
    'recover it, as from a lost worker', { recover_unheld, id, head })
end

local function check_unhandled(id, head)
  local number = set_number_of(head)
  if call('ZSCORE', PREFIX .. 'unhandled:' .. number, id) then return end
  finding('lost', id, 'its record says unhandled, but it is not in unhandled:' .. number,
    'make it ready', { enter_tail, id, header_of(head) })
end

-- Checks that an operation that waits for its turn at a unique key stands behind it.
local function check_turn(id, head, key)
  if call('ZSCORE', PREFIX .. 'behind:' .. key, id) then return end
  finding('lost', id, 'it waits for unique key ' .. key .. ', but is not in the list of its waiters', 'add it to the list',
    { zadd, PREFIX .. 'behind:' .. key, format('%.0f', sequence_of(head)), id })
end

-- Checks a dependency in another queue: this queue will ask for its state again, and the dependent was notified of each
-- end that this queue knows.
local function check_remote_need(id, name)
  local told, known = call('ZSCORE', dependents_key(name), id), call('HMGET', remote_key(name), 'sequence', 'state')
  -- A member may have been enqueued again after its end. The other queue will say so when it is asked, so nothing is
  -- reported while that question is due soon.
  local asked = tonumber(call('ZSCORE', ASKING, name) or 0)
  local is_asked_soon = asked > 0 and asked <= now + FIRST_ASK
  if known[2] and tonumber(told or 0) < tonumber(known[1]) and not is_asked_soon and not call('ZSCORE', OUTBOX, name) then
    finding('lost', id, 'it depends on ' .. name .. ', which has ended, but was not notified', 'notify it',
      { zadd, OUTBOX, outbox_score(tonumber(known[1]), known[2]), name })
  end
  if not told then
    finding('lost', id, 'it depends on ' .. name .. ', but would not be notified of its end', 'register it as a dependent', { zadd, dependents_key(name), '0', id })
  end
  if not call('ZSCORE', ASKING, name) then
    finding('lost', id, 'it depends on ' .. name .. ', but this queue never asks for the state of that operation', 'ask now', { zadd, ASKING, '0', name })
  end
end

-- Counts a missing dependency as removed, and lets its dependents continue by their policies. The new sequence is
-- higher than the last one that they were notified of.
local function note_gone(dependency, id)
  call('ZADD', dependents_key(dependency), 'NX', '0', id)
  add('notEnqueued', 1)
  note_ended_dependency(dependency, call('HINCRBY', META, 'sequence', 1), 'm')
end

-- Checks a dependency: it has a record, lists its dependent, and will report its end. An operation that was notified of
-- a failed dependency and still waits needs an operator: its policy is hold, or it was retried. That dependency may
-- have been removed; the finding `neverStarts` names such operations.
local function check_need(id, dependency, heard)
  if heard == 'm' then return end
  if is_remote(dependency) then return check_remote_need(id, dependency) end
  local head = head_of(dependency)
  if not head then
    if is_end(heard) then return end
    finding('lost', id, 'it depends on ' .. dependency .. ', which has no record', 'count that operation as removed', { note_gone, dependency, id })
    return
  end
  local told = tonumber(call('ZSCORE', dependents_key(dependency), id) or -1)
  if told < 0 then
    finding('lost', id, 'it depends on ' .. dependency .. ', but is not registered as a dependent of it', 'register it as a dependent', { zadd, dependents_key(dependency), '0', id })
  elseif is_end(stored_state_of(head)) and told < sequence_of(head) and not call('ZSCORE', OUTBOX, dependency) then
    finding('lost', id, 'it depends on ' .. dependency .. ', which has ended, but was not notified', 'notify it',
      { zadd, OUTBOX, outbox_score(sequence_of(head), state_of(head)), dependency })
  end
end

-- Only the first dependencies are checked, if they are many.
local NEEDS_AT_ONCE = 100
local function check_needs(id, unmet)
  local needs, found, misses = call('HSCAN', needs_key(id), '0', 'COUNT', NEEDS_AT_ONCE)[2], 0, 0
  for i = 1, #needs, 2 do
    local policy, before = read_need(needs[i + 1])
    if policy == 'member' and is_end(before) and before ~= 'f' then misses = misses + 1 end
    if not is_met(before, policy) then
      found = found + 1
      if needs[i] ~= OPEN then check_need(id, needs[i], before) end
    end
  end
  if #needs < 2 * call('HLEN', needs_key(id)) then return end
  local counted = tonumber(call('HGET', extras_key(id), 'misses') or 0)
  if misses ~= counted then
    finding('counter', id, format('%d of its members ended otherwise than finished, but its counter says %d', misses, counted),
      format('set the counter to %d', misses), { hset, extras_key(id), 'misses', format('%d', misses) })
  end
  if found ~= unmet then
    finding('counter', id, format('it waits for %d dependencies, but its counter says %d', found, unmet),
      format('set the counter to %d', found), { hset, extras_key(id), 'unmet', format('%d', found) })
  end
end

-- Checks that a silent opener of an open group is noticed.
local function check_opener(id, group)
  if find(group, ' 0$') or call('HEXISTS', needs_key(id), OPEN) == 0 or call('ZSCORE', ASKING, '+' .. id) then return end
  finding('lost', id, 'it is an open group, but stays open for ever if its opener is gone', 'watch its opener', { zadd, ASKING, '0', '+' .. id })
end

-- A blocked operation waits for an operator, its turn at a unique key, or its dependencies.
local function check_blocked(id, head)
  local about = call('HMGET', extras_key(id), 'turn', 'unique', 'heldAt', 'unmet', 'group')
  local unmet = tonumber(about[4] or 0)
  if about[1] then check_turn(id, head, about[2] or '') end
  if about[4] then check_needs(id, unmet) end
  if about[5] then check_opener(id, about[5]) end
  if not about[1] and not about[3] and unmet <= 0 then
    finding('lost', id, 'it is blocked, but waits for nothing' .. (about[5] and '' or ': run sluice release ' .. id))
  end
end

-- A planned look at an operation in another queue deletes its data once nothing depends on it. Checks that such a look
-- is planned.
local function check_remote(name)
  if call('ZSCORE', ASKING, name) then return end
  if call('EXISTS', remote_key(name), dependents_key(name)) == 0 then return end
  finding('leftover', name, 'data about an operation in another queue that is never checked again', 'check it now', { zadd, ASKING, '0', name })
end

-- Checks that ends are relayed to the queues that have to hear of them.
local function check_dependent_queues(id)
  local queues = call('HGET', extras_key(id), 'dependentQueues') or ''
  for queue in string.gmatch(queues, '%S+') do
    if call('EXISTS', outbox_of(queue)) == 1 and not call('ZSCORE', OUTBOXES, queue) then
      finding('lost', id, 'ends for queue ' .. queue .. ' are not relayed, so its dependents wait for ever', 'relay them', { zadd, OUTBOXES, '0', queue })
    end
  end
end

-- Whether a ready operation stands in a lane. An operation that waits for its limit key does not, and its head stays
-- the same when the key moves it to a lane.
local function stands_in_lane(id, head)
  local key = has_limit_key(head) and call('HGET', extras_key(id), 'limitKey')
  return not key or not call('ZSCORE', waiting_of_key(key), id)
end

local function check_orphan(id)
  local keys = {}
  for _, kind in ipairs({ 'x:', 'errors:', 'log:', 'needs:', 'inputs:', 'dependents:' }) do
    -- Dependents of a removed operation may not be notified of its end yet.
    local is_of_outbox = kind == 'dependents:' and call('ZSCORE', OUTBOX, id)
    if not is_of_outbox and call('EXISTS', PREFIX .. kind .. id) == 1 then keys[#keys + 1] = PREFIX .. kind .. id end
  end
  if #keys > 0 then finding('leftover', id, 'data of an operation that has no record', 'delete it', { unlink, keys }) end
end

local function check(id)
  if is_remote(id) then return check_remote(id) end
  local head = head_of(id)
  if not head then
    if call('EXISTS', record_key(id)) == 0 then return check_orphan(id) end
    finding('malformed', id, 'a record of fewer than ' .. HEAD .. ' bytes, which has no valid head', 'delete it', { unlink, { record_key(id) } })
    return
  end
  local state, stored = state_of(head), stored_state_of(head)
  if is_linked(head) then check_dependent_queues(id) end
  if id_of(head) ~= id or not NAMES[stored] then
    finding('malformed', id, 'a record with another id or an unknown state: inspect it with redis-cli GET ' .. record_key(id))
  elseif stored == 'u' and state == 'r' then
    check_unhandled(id, head)
  elseif state ~= stored then
    return -- of a cancelled queue, not cleared away yet
  elseif state == 'r' then
    if stands_in_lane(id, head) then
      ready[#ready + 1] = id
      ready[#ready + 1] = head
    end
  elseif state == 'x' then
    check_executing(id, head)
  elseif state == 's' or state == 't' then
    check_set(id, head, state == 's' and 'scheduled' or 'retrying', ready_at_of(head))
  elseif state == 'b' then
    check_set(id, head, 'blocked', now)
    check_blocked(id, head)
  else
    check_set(id, head, 'ended:' .. state, ended_at_of(head))
  end
end

for i = 2, #ARGV do
  if is_id(ARGV[i]) or is_remote(ARGV[i]) then check(ARGV[i]) end
end
flush()
local reply = { findings }
for i = 1, #ready do reply[i + 1] = ready[i] end
return reply
