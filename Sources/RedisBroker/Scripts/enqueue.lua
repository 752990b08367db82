-- Puts operations into the queue. Atomic; a repeat with the same call number is answered as the first call was.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  producer: random id of the client, '' = not repeatable
-- ARGV[2]  number of this call, growing per producer
-- ARGV[3]  lowest call number of the producer that is still unanswered: answers below it are forgotten
-- ARGV[4…] elements, at most 500: header with delay and expiry as durations in ms (base 36), then the envelope
-- Output   one character per element: 1 created, 0 an operation with this id exists; or an error, if a header is not valid
-- Events   r or s for each that was created
-- include: base
-- include: limits
-- include: events
-- include: doorbell
-- include: records
-- include: header
-- include: large
-- include: flush
local FIRST = 4
local producer, number, lowest = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local calls = PREFIX .. 'calls:' .. producer
local floor_now = lowest
if producer ~= '' then
  if not string.find(ARGV[2], '^%d+$') or not string.find(ARGV[3], '^%d+$') or lowest > number then
    return redis.error_reply('ERR sluice: call and floor must be numbers, the floor not above the call')
  end
  local known = call('HMGET', calls, ARGV[2], 'floor')
  if known[1] then return known[1] end
  -- Its answer was received long ago: this is an old packet, not a repeat.
  if known[2] and number < tonumber(known[2]) then
    return redis.error_reply('ERR sluice: call ' .. ARGV[2] .. ' was answered before')
  end
  floor_now = tonumber(known[2] or lowest)
end

-- Anybody may call this script, so what it stores is checked as a whole before anything is written.
if #ARGV - FIRST + 1 > BATCH then return redis.error_reply('ERR sluice: more than ' .. BATCH .. ' elements') end
local largest = 0
for i = FIRST, #ARGV do
  if not has_valid_header(ARGV[i]) then
    return redis.error_reply('ERR sluice: element ' .. (i - FIRST + 1) .. ' has no valid header')
  end
  largest = max(largest, #ARGV[i])
end
if largest > ELEMENT_BYTES then return redis.error_reply('ERR sluice: an element has more than ' .. ELEMENT_BYTES .. ' bytes') end

-- An adding command comes first: it is refused as a whole when Redis is full.
local n = #ARGV - FIRST + 1
local sequence = call('HINCRBY', META, 'sequence', format('%d', n)) - n
note_large(largest)

-- 1. What is to be stored, its durations made instants: for untracked operations the lane element, for tracked ones (and what
-- waits for its time is tracked) the reference, and the record with its key.
local stored, dues, deadlines, keys_and_records = {}, {}, {}, {}
local seen, is_distinct = {}, true
local function prepare(i, element, hex)
  local delay, lifetime = sub(element, 10, 18), sub(element, 19, 27)
  local due = delay ~= ZERO9 and min(now + tonumber(delay, 36), LATEST) or nil
  local deadline = lifetime ~= ZERO9 and min(now + tonumber(lifetime, 36), LATEST) or nil
  local header = '1' .. (due and '1' or sub(element, 2, 2)) .. sub(element, 3, 9) .. (due and time36(due) or NOW36)
    .. (deadline and time36(deadline) or ZERO9) .. hex .. sub(element, 39, 64)
  dues[i], deadlines[i] = due, deadline
  if not is_reference(header) then return header .. sub(element, 65) end
  local key = record_key(sub(header, 39, 64))
  is_distinct, seen[key] = is_distinct and not seen[key], true
  keys_and_records[#keys_and_records + 1] = key
  keys_and_records[#keys_and_records + 1] = new_record(header, due and 's' or 'r', NOW36, sub(element, 65))
  return header
end
for i = 1, n do
  local element, hex = ARGV[FIRST + i - 1], format('%011x', sequence + i)
  if not is_reference(element) and sub(element, 10, 27) == NO_TIMES then
    stored[i] = sub(element, 1, 9) .. NOW36 .. ZERO9 .. hex .. sub(element, 39)
  else
    stored[i] = prepare(i, element, hex)
  end
end

-- 2. The records, each only if its id is new: all at once, or one by one if some id is known.
local are_all_new = is_distinct and (#keys_and_records == 0 or call('MSETNX', unpack(keys_and_records)) == 1)
local next_record = 1
local function create(i)
  if are_all_new or not is_reference(stored[i]) then return true end
  local key, record = keys_and_records[next_record], keys_and_records[next_record + 1]
  next_record = next_record + 2
  return call('SET', key, record, 'NX')
end

-- 3. Their places.
local lanes, outcomes, scheduled, expiring = {}, {}, {}, {}
local earliest, created = nil, 0
local function note_time(set, instant, element)
  set[#set + 1] = instant
  set[#set + 1] = sub(element, 39, 64)
  earliest = min(earliest or instant, instant)
end
local function place(i)
  local element = stored[i]
  if dues[i] then
    note_time(scheduled, dues[i], element)
  else
    local lane = sub(element, 3, 3)
    if not lanes[lane] then lanes[lane] = {} end
    lanes[lane][#lanes[lane] + 1] = element
  end
  local is_tracked = is_reference(element)
  if is_tracked and deadlines[i] then note_time(expiring, deadlines[i], element) end
  event_of(element, dues[i] and 's' or 'r', is_tracked)
  created = created + 1
end
for i = 1, n do
  outcomes[i] = create(i) and '1' or '0'
  if outcomes[i] == '1' then place(i) end
end
add('enqueued', created)

if #scheduled > 0 then call('ZADD', PREFIX .. 'scheduled', unpack(scheduled)) end
if #expiring > 0 then call('ZADD', PREFIX .. 'expiring', unpack(expiring)) end
for lane, elements in pairs(lanes) do call('RPUSH', PREFIX .. 'lane:' .. lane, unpack(elements)) end
if next(lanes) then ring() end
if earliest then announce_due(earliest) end

local answer = concat(outcomes)
if producer ~= '' then
  local floor_next, answered = max(floor_now, min(lowest, floor_now + 500)), {}
  for past = floor_now, floor_next - 1 do answered[#answered + 1] = format('%d', past) end
  if #answered > 0 then call('HDEL', calls, unpack(answered)) end
  call('HSET', calls, 'floor', format('%d', floor_next), ARGV[2], answer)
  call('PEXPIRE', calls, '600000')
end
flush()
return answer
