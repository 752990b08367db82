-- Puts operations into the queue. Atomic; a repeat with the same call number is answered as the first call was.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  producer: random id of the client, '' = not repeatable
-- ARGV[2]  number of this call, growing per producer
-- ARGV[3]  lowest call number of the producer that is still unanswered: answers below it are forgotten
-- ARGV[4…] elements, at most 500: header with delay and expiry as durations in ms (base 36), then the envelope
-- Output   one character per element: 1 created, 0 an operation with this id exists; or an error, if a header is not valid
-- Events   r or s for each that was created
-- include: base
-- include: events
-- include: doorbell
-- include: records
-- include: flush
local FIRST = 4
local producer = ARGV[1]
local calls = PREFIX .. 'calls:' .. producer
if producer ~= '' then
  local answer = call('HGET', calls, ARGV[2])
  if answer then return answer end
end

-- Anybody may call this script, so what it stores is checked as a whole before anything is written.
for i = FIRST, #ARGV do
  local element = ARGV[i]
  if #element < 66 or not string.find(element, '^1[01][0-4][0-9a-z]%d%d%d%d%d') or string.find(sub(element, 10, 27), '[^0-9a-z]')
    or string.find(sub(element, 28, 38), '[^0-9a-f]') or not string.find(sub(element, 39, 64), '^[0-7][0-9A-HJKMNP-TV-Z]+$') then
    return redis.error_reply('ERR sluice: element ' .. (i - FIRST + 1) .. ' has no valid header')
  end
end

-- An adding command comes first: it is refused as a whole when Redis is full.
local n = #ARGV - FIRST + 1
local sequence = call('HINCRBY', META, 'sequence', n) - n

local lanes, outcomes, scheduled, expiring = {}, {}, {}, {}
local earliest

-- Returns the reference, or nil if the id is taken.
local function store(header, state, due36, envelope)
  if call('SET', record_key(sub(header, 39, 64)), new_record(header, state, due36, envelope), 'NX') then return header end
end

for i = 1, n do
  local element = ARGV[FIRST + i - 1]
  local delay, lifetime, id = sub(element, 10, 18), sub(element, 19, 27), sub(element, 39, 64)
  local delayed, expires = delay ~= ZERO9, lifetime ~= ZERO9
  local due = delayed and now + tonumber(delay, 36) or now
  local due36 = delayed and time36(due) or NOW36
  local deadline = expires and now + tonumber(lifetime, 36)
  local tracked = delayed or sub(element, 2, 2) ~= '0'
  local header = sub(element, 1, 1) .. (tracked and '1' or '0') .. sub(element, 3, 9) .. due36
    .. (expires and time36(deadline) or ZERO9) .. format('%011x', sequence + i) .. id
  local stored = header .. (tracked and '' or sub(element, 65))
  if tracked then stored = store(header, delayed and 's' or 'r', delayed and due36 or ZERO9, sub(element, 65)) end
  outcomes[i] = stored and '1' or '0'
  if stored then
    if delayed then
      scheduled[#scheduled + 1] = due
      scheduled[#scheduled + 1] = id
      if not earliest or due < earliest then earliest = due end
    else
      local lane = sub(element, 3, 3)
      lanes[lane] = lanes[lane] or {}
      lanes[lane][#lanes[lane] + 1] = stored
    end
    if tracked and expires then
      expiring[#expiring + 1] = deadline
      expiring[#expiring + 1] = id
      if not earliest or deadline < earliest then earliest = deadline end
    end
    event(id, delayed and 's' or 'r', tracked)
    add('enqueued', 1)
  end
end

if #scheduled > 0 then call('ZADD', PREFIX .. 'scheduled', unpack(scheduled)) end
if #expiring > 0 then call('ZADD', PREFIX .. 'expiring', unpack(expiring)) end
for lane, elements in pairs(lanes) do call('RPUSH', PREFIX .. 'lane:' .. lane, unpack(elements)) end
if next(lanes) then ring() end
if earliest then announce_due(earliest) end

local answer = concat(outcomes)
if producer ~= '' then
  local floor_now = tonumber(call('HGET', calls, 'floor') or ARGV[3])
  local floor_next = min(tonumber(ARGV[3]), floor_now + 500)
  for number = floor_now, floor_next - 1 do call('HDEL', calls, format('%d', number)) end
  call('HSET', calls, 'floor', format('%d', floor_next), ARGV[2], answer)
  call('PEXPIRE', calls, 600000)
end
flush()
return answer
