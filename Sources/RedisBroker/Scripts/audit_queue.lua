-- Checks a queue's counters and leases against its structures; bounded by 1,000 workers.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  codes of findings to fix, each between blanks
-- Output   time, number of workers, meta fields, totals, sizes (lanes 0 to 4, scheduled, retrying, blocked, expiring,
--          ended f d c e, batches, intents, awaited), workers (id, lease until, in flight), findings, numbers of the
--          sets of unhandled operations, at most 1,000, and the places of at most 1,000 limit keys
-- Events   none; without codes to fix nothing changes
-- include: base
-- include: record
-- include: audit
-- include: limit_key_names
-- include: audit_schedules
-- A removing command first: a fix must work when Redis is full.
if ARGV[1] ~= '' then call('HDEL', META, '') end
local m, totals = {}, {}
local function read(key, into)
  local fields = call('HGETALL', key)
  for i = 1, #fields, 2 do into[fields[i]] = fields[i + 1] end
  return fields
end
local meta_fields, total_fields = read(META, m), read(TOTALS, totals)
local function total(name) return tonumber(totals[name] or 0) end

local sizes, waiting, ready = {}, 0, 0
for lane = 0, 4 do
  sizes[#sizes + 1] = call('LLEN', PREFIX .. 'lane:' .. lane)
  ready = ready + sizes[#sizes]
end
for _, place in ipairs({ 'scheduled', 'retrying', 'blocked' }) do
  sizes[#sizes + 1] = call('ZCARD', PREFIX .. place)
  waiting = waiting + sizes[#sizes]
end
for _, place in ipairs({ 'expiring', 'ended:f', 'ended:d', 'ended:c', 'ended:e' }) do
  sizes[#sizes + 1] = call('ZCARD', PREFIX .. place)
end
sizes[#sizes + 1] = call('LLEN', PREFIX .. 'batches')
sizes[#sizes + 1] = call('HLEN', PREFIX .. 'intents')
sizes[#sizes + 1] = call('ZCARD', PREFIX .. 'awaited')

-- Checks the sets of unhandled operations against their counts.
local function check_unhandled()
  local numbers, all = {}, 0
  local names = call('ZRANGE', PREFIX .. 'unhandled', 0, 999, 'WITHSCORES')
  for i = 1, #names, 2 do
    local number = call('HGET', PREFIX .. 'unhandled:names', names[i]) or '0'
    local n = call('ZCARD', PREFIX .. 'unhandled:' .. number)
    numbers[#numbers + 1], all = number, all + n
    if n ~= tonumber(names[i + 1]) then
      finding('counter', 'unhandled', format('the counter of %s says %s, its set holds %d', names[i], names[i + 1], n),
        'correct it', n > 0 and { zadd, PREFIX .. 'unhandled', format('%d', n), names[i] } or { zrem, PREFIX .. 'unhandled', names[i] })
    end
  end
  return numbers, all
end
local unhandled, unhandled_count = check_unhandled()

-- Checks that the waiting operations of a limit key will get a turn: an operation of the key stands in a lane, or one
-- runs and passes the turn on when it ends, or the key is parked until its rate allows the next start.
local function check_turn(key, waiting, standing)
  if waiting == 0 or standing > 0 or call('EXISTS', PREFIX .. 'running:' .. key) == 1 then return end
  if call('ZSCORE', PREFIX .. 'expiring', '*' .. key) then return end
  finding('lost', key, format('%d of limit key %s wait, but none runs and no next start is planned', waiting, key),
    'start the next one now', { zadd, PREFIX .. 'expiring', NOW, '*' .. key })
end

-- Checks the sets of limit keys against their counts.
local key_places = {}
local function check_keys()
  local all = 0
  local keys = call('ZRANGE', PREFIX .. 'keyed', 0, 999, 'WITHSCORES')
  for i = 1, #keys, 2 do
    local key = keys[i]
    local waiting, standing = call('ZCARD', waiting_of_key(key)), call('ZCARD', next_of_key(key))
    all = all + waiting
    key_places[#key_places + 1] = waiting_place_of_key(key)
    key_places[#key_places + 1] = next_place_of_key(key)
    key_places[#key_places + 1] = 'running:' .. key
    check_turn(key, waiting, standing)
    if waiting + standing > 0 and not call('ZSCORE', PREFIX .. 'keyNames', key) then
      finding('lost', key, 'lists do not show the operations that wait for this limit key', 'list it', { zadd, PREFIX .. 'keyNames', '0', key })
    end
    if waiting + standing ~= tonumber(keys[i + 1]) then
      finding('counter', 'keyed', format('the counter of limit key %s says %s, its sets hold %d', key, keys[i + 1], waiting + standing),
        'correct it', waiting + standing > 0 and { zadd, PREFIX .. 'keyed', format('%d', waiting + standing), key } or { zrem, PREFIX .. 'keyed', key })
    end
  end
  for _, key in ipairs(call('ZRANGE', PREFIX .. 'keyNames', 0, 999)) do
    if not call('ZSCORE', PREFIX .. 'keyed', key) then
      finding('leftover', key, 'a limit key without ready operations is listed', 'remove it', { zrem, PREFIX .. 'keyNames', key })
    end
  end
  return all
end
local keyed_count = check_keys()
check_schedules()

local count = call('ZCARD', PREFIX .. 'leases')
local leases = call('ZRANGE', PREFIX .. 'leases', 0, 999, 'WITHSCORES')
local workers, held = {}, 0
for i = 1, #leases, 2 do
  local n = call('HLEN', PREFIX .. 'inflight:' .. leases[i])
  held = held + n
  for _, value in ipairs({ leases[i], leases[i + 1], n }) do workers[#workers + 1] = value end
end

local function correct(field, is, should) return { hincrby, TOTALS, field, should - is } end

if count <= 1000 and total('executing') ~= held then
  finding('counter', 'executing', format('the counter says %d, workers with a lease hold %d', total('executing'), held),
    'correct it', correct('executing', total('executing'), held))
end
if call('EXISTS', PREFIX .. 'full') == 1 and (not m.limits or find(m.limits, '^%d+$') and total('executing') < tonumber(m.limits)) then
  finding('wake', 'full', 'it is marked as full, but fewer run than its limit allows, so ready operations wake no worker',
    'remove the mark', { unlink, { PREFIX .. 'full' } })
end
if total('unhandled') ~= unhandled_count then
  finding('counter', 'unhandled', format('the counter says %d, the sets of all names hold %d', total('unhandled'), unhandled_count),
    'correct it', correct('unhandled', total('unhandled'), unhandled_count))
end
if call('ZCARD', PREFIX .. 'keyed') <= 1000 and total('keyed') ~= keyed_count then
  finding('counter', 'keyed', format('the counter says %d, the sets of all limit keys hold %d', total('keyed'), keyed_count),
    'correct it', correct('keyed', total('keyed'), keyed_count))
end
if total('missing') > 0 then
  finding('missing', m.missing or '', format('operations without a record when their turn came: %d, this one last; check maxmemory-policy for evictions', total('missing')),
    'set the counter to 0', { hset, TOTALS, 'missing', '0' })
end
local stale = total('stale')
if stale < 0 or stale > ready then
  finding('counter', 'stale', format('the counter says %d stale references, but the lanes hold %d elements in all', stale, ready))
end
if call('EXISTS', PREFIX .. 'batches') == 0 and total('clearing') ~= 0 then
  finding('counter', 'clearing', format('the counter says %d, no cancelled batch is left', total('clearing')),
    'correct it', correct('clearing', total('clearing'), 0))
end
local ended = total('finished') + total('dead') + total('cancelled') + total('expired') + total('removed')
local should = tonumber(m.sequence or 0) - total('notEnqueued') + total('reopened')
local is = ready - stale + unhandled_count + total('keyed') + waiting + held + ended
if count <= 1000 and is ~= should then
  finding('sum', 'totals', format('%d operations were enqueued or reopened, but %d wait, run or have ended', should, is),
    #findings == 0 and 'count the difference as not enqueued' or '', #findings == 0 and { hincrby, TOTALS, 'notEnqueued', should - is } or nil)
end
if tonumber(m.lastSeen or 0) > now + 5000 then
  finding('clockBack', 'lastSeen', format('the last heartbeat is %d ms in the future, so the clock of Redis went back: check its time synchronization',
    tonumber(m.lastSeen) - now))
end
if call('LLEN', PREFIX .. 'wake') > 1 then
  finding('wake', 'wake', format('%d wake-up tokens, expected at most 1', call('LLEN', PREFIX .. 'wake')), 'keep one', { lrem, PREFIX .. 'wake', format('%d', call('LLEN', PREFIX .. 'wake') - 1), '1' })
end
return { format('%d', now), count, meta_fields, total_fields, sizes, workers, findings, unhandled, key_places }
