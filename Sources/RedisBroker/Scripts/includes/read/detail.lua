-- include: record
-- include: batch_of
-- include: limit_key_names
-- include: needs

-- An answer ends with the row that reaches this size: one operation may have several MiB.
local ANSWER_BYTES = 4194304
local read = 0
local function count_read(bytes) read = read + bytes end
local function is_full() return read >= ANSWER_BYTES end

-- Returns the holder of the unique key that an operation may wait for; nil = unknown.
local function key_holder(id)
  local key = call('HGET', extras_key(id), 'unique')
  return key and string.match(call('HGET', PREFIX .. 'unique', key) or '', '^%w+')
end

local SHOWN_LINKS = 20
local BYTES_OF_NEED = 2048

-- Returns the state of a dependency. '' = it has no record, or is in another queue and no end of it is known.
local function state_of_dependency(name)
  if is_remote(name) then return call('HGET', PREFIX .. 'remote:' .. name, 'state') or '' end
  local head = head_of(name)
  return head and state_of(head) or ''
end

-- Adds at most SHOWN_LINKS dependencies, unmet ones first: for each a field "need NAME", with the state of that
-- operation last.
local function add_needs_shown(id, extras)
  local function show(field, value) extras[#extras + 1], extras[#extras + 2] = field, value end
  -- Reads all dependencies that one call may write, and only some of more.
  local scan, needs = call('HSCAN', needs_key(id), '0', 'COUNT', 500)[2], {}
  for i = 1, #scan, 2 do
    local policy, ended = read_need(scan[i + 1])
    if scan[i] ~= OPEN then needs[#needs + 1] = (is_met(ended, policy) and '1 ' or '0 ') .. scan[i] .. ' ' .. scan[i + 1] end
  end
  -- A scan of many may leave OPEN out.
  local open = call('HGET', needs_key(id), OPEN)
  if open then needs[#needs + 1] = '0 ' .. OPEN .. ' ' .. open end
  read = read + 40 * #needs
  table.sort(needs)
  for i = 1, min(#needs, SHOWN_LINKS) do
    local dependency, need = string.match(needs[i], '^%d (%S+) (.*)$')
    show('need ' .. dependency, need .. ' ' .. state_of_dependency(dependency))
    read = read + BYTES_OF_NEED
  end
  show('needCount', format('%d', call('HLEN', needs_key(id))))
end

local function add_dependents_shown(id, extras)
  local function show(field, value) extras[#extras + 1], extras[#extras + 2] = field, value end
  show('dependentIds', concat(call('ZRANGE', dependents_key(id), 0, SHOWN_LINKS - 1), ' '))
  show('dependentCount', format('%d', call('ZCARD', dependents_key(id))))
end

-- Returns one operation for people: its record, and data that only some operations have. Returns nil and the record if
-- `is_sought` is given and rejects it.
local function detail(id, is_sought)
  local record = call('GET', record_key(id))
  if not record or #record < HEAD then return {} end
  read = read + #record
  if is_sought and not is_sought(record) then return nil, record end
  local state = shown_state_of(record)
  local extras = call('HGETALL', extras_key(id))
  local stored = stored_state_of(record)
  if stored == 'u' then
    record = shown_as_ready(record)
    if state == 'r' then extras[#extras + 1], extras[#extras + 2] = 'unhandled', '1' end
  end
  local holder = state == 'b' and is_linked(record) and key_holder(id)
  if holder then extras[#extras + 1], extras[#extras + 2] = 'holder', holder end
  if stored == 'r' and state == 'r' and has_limit_key(record) then
    local key = call('HGET', extras_key(id), 'limitKey')
    if key and call('ZSCORE', waiting_of_key(key), id) then extras[#extras + 1], extras[#extras + 2] = 'waitsForKey', '1' end
  end
  if is_linked(record) then
    local links = call('HMGET', extras_key(id), 'unmet', 'dependents')
    if links[1] then add_needs_shown(id, extras) end
    if links[2] then add_dependents_shown(id, extras) end
  end
  local fence = fence_of(record)
  local is_requested = state == 'x' and fence <= tonumber(call('HGET', META, 'cancelledFence') or 0)
  local is_in_batch = state == 'c' and stored ~= 'c'
  if is_requested or is_in_batch then
    local at, by, reason
    if is_in_batch then
      at, by, reason = queue_cancel(record)
    else
      at, by, reason = string.match(call('HGET', META, 'cancelTrace') or '', '^(%d+) (%S*) ?(.*)$')
    end
    for _, value in ipairs({ 'queueCancelAt', at or '0', 'queueCancelBy', by or '', 'queueCancelReason', reason or '' }) do
      extras[#extras + 1] = value
    end
  end
  local owner = stored == 'x' and worker_of(record)
  local ran_on = find('tfdc', stored, 1, true) and worker_of(record)
  if ran_on then extras[#extras + 1], extras[#extras + 2] = 'ranOn', ran_on end
  local errors = call('LRANGE', errors_key(id), 0, -1)
  for _, texts in ipairs({ errors, extras }) do
    for i = 1, #texts do read = read + #texts[i] end
  end
  return { record, state, owner and format('%d ', fence) .. owner or '', errors, extras }
end
