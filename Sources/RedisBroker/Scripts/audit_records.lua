-- Checks operations by their ids: every record lies where it says, and nothing is kept of what has no record.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     ids, at most 500
-- Output   findings, then for each record that is ready: id and head; no look into a lane can tell whether its reference is there
-- Events   none (reads only)
-- include: base
-- include: record
-- include: audit
-- include: rewriting
local ready = {}

local function check_set(id, head, place, score)
  if call('ZSCORE', PREFIX .. place, id) then return end
  finding('lost', id, 'its record says ' .. name_of(stored_state_of(head)) .. ', but it is not in ' .. place,
    'ZADD ' .. quoted(PREFIX .. place) .. ' ' .. format('%.0f', score) .. ' ' .. id)
end

-- By the number in the record; where that leads to nobody, all workers are asked, up to 1,000.
local function is_held(worker, fence)
  if worker then return call('HEXISTS', PREFIX .. 'inflight:' .. worker, fence) == 1 end
  for _, other in ipairs(call('ZRANGE', PREFIX .. 'leases', 0, 999)) do
    if call('HEXISTS', PREFIX .. 'inflight:' .. other, fence) == 1 then return true end
  end
  return false
end

-- What runs counts for its limit key.
local function check_key(id, head)
  local key = is_linked(head) and call('HGET', extras_key(id), 'limitKey')
  if not key or call('SISMEMBER', PREFIX .. 'running:' .. key, id) == 1 then return end
  finding('counter', id, 'it runs, but its limit key ' .. key .. ' does not count it: too many may run',
    'SADD ' .. quoted(PREFIX .. 'running:' .. key) .. ' ' .. id)
end

local function check_executing(id, head)
  check_key(id, head)
  local worker, fence = worker_of(head), format('%d', fence_of(head))
  if is_held(worker, fence) then return end
  finding('lost', id, 'its record says executing under fence ' .. fence .. ', but '
    .. (worker and worker .. ' does not hold it' or 'its worker is unknown'),
    rewriting(id, 'd' .. NOW36) .. ' && ZADD ' .. quoted(PREFIX .. 'ended:d') .. ' '
    .. NOW .. ' ' .. id .. ' && HINCRBY ' .. quoted(TOTALS) .. ' dead 1')
end

-- Its repair makes it an ordinary one in its lane.
local function check_unhandled(id, head)
  local number = set_number_of(head)
  if call('ZSCORE', PREFIX .. 'unhandled:' .. number, id) then return end
  finding('lost', id, 'its record says unhandled, but it is not in unhandled:' .. number,
    rewriting(id, 'r' .. NOT_STARTED) .. ' && RPUSH ' .. quoted(PREFIX .. 'lane:' .. lane_of(head))
      .. ' ' .. header_of(head))
end

-- What waits for its turn at a unique key stands behind it.
local function check_turn(id, head)
  local links = call('HMGET', extras_key(id), 'turn', 'unique')
  local key = links[2] or ''
  if not links[1] or call('ZSCORE', PREFIX .. 'behind:' .. key, id) then return end
  -- Other characters could mean something to a shell.
  finding('lost', id, 'it waits for a unique key, but does not stand behind it', find(key, '^[%w%. :_-]+$')
    and 'ZADD ' .. quoted(PREFIX .. 'behind:' .. key) .. ' ' .. format('%.0f', sequence_of(head)) .. ' ' .. id)
end

local function check_orphan(id)
  local keys = {}
  for _, kind in ipairs({ 'x:', 'errors:', 'log:' }) do
    if call('EXISTS', PREFIX .. kind .. id) == 1 then keys[#keys + 1] = quoted(PREFIX .. kind .. id) end
  end
  if #keys > 0 then finding('leftover', id, 'kept of an operation without a record', 'DEL ' .. concat(keys, ' ')) end
end

local function check(id)
  local head = head_of(id)
  if not head then
    if call('EXISTS', record_key(id)) == 0 then return check_orphan(id) end
    finding('malformed', id, 'a record that is too short', 'DEL ' .. quoted(record_key(id)))
    return
  end
  local state, stored = state_of(head), stored_state_of(head)
  if id_of(head) ~= id or not NAMES[stored] then
    finding('malformed', id, 'a record that cannot be read')
  elseif stored == 'u' and state == 'r' then
    check_unhandled(id, head)
  elseif state ~= stored then
    return -- of a cancelled queue, not cleared away yet
  elseif state == 'r' then
    ready[#ready + 1] = id
    ready[#ready + 1] = head
  elseif state == 'x' then
    check_executing(id, head)
  elseif state == 's' or state == 't' then
    check_set(id, head, state == 's' and 'scheduled' or 'retrying', ready_at_of(head))
  elseif state == 'b' then
    check_set(id, head, 'blocked', now)
    if is_linked(head) then check_turn(id, head) end
  else
    check_set(id, head, 'ended:' .. state, ended_at_of(head))
  end
end

for i = 1, #ARGV do
  if is_id(ARGV[i]) then check(ARGV[i]) end
end
local reply = { findings }
for i = 1, #ready do reply[i + 1] = ready[i] end
return reply
