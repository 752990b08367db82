-- Stores the answers of numbered calls, so that a repeat gets the answer of the first call. Each producer has a hash:
--   floor   the lowest call number whose answer the producer had not seen
--   last    number and answer of the latest call that was its own floor, as all calls are if a producer makes one at a
--           time
--   NUMBER  the answer of any other call
--   until   when the hash expires
-- Commands cost more than memory: answers below the floor are deleted sixteen at a time, and the expiry is renewed at
-- most once a minute.
-- include: limits
local calls, last_floor, known_until

-- A double cannot represent every integer above 2^53, and a loop over such numbers would never end.
local function is_call(text) return #text <= 15 and find(text, '^[1-9]%d*$') end

-- Returns the stored answer of a repeat, or the error that refuses the call; nil = the call is new.
local function reply_of_before(producer, number, lowest)
  if producer == '' then return nil end
  if not is_call(number) or not is_call(lowest) or tonumber(lowest) > tonumber(number) then
    return redis.error_reply(format('ERR sluice: call "%.30s" and floor "%.30s": expected numbers of at most 15 digits, the floor not above the call', number, lowest))
  end
  calls = PREFIX .. 'calls:' .. producer
  local known = call('HMGET', calls, number, 'floor', 'until', 'last')
  if known[1] then return known[1] end
  local mark = number .. ' '
  if known[4] and find(known[4], mark, 1, true) == 1 then return string.match(known[4], ' (.*)$') end
  -- The producer received this answer long ago, so the call is an old packet and not a repeat.
  if known[2] and tonumber(number) < tonumber(known[2]) then
    return redis.error_reply('ERR sluice: call ' .. number .. ' is below ' .. known[2] .. ', the floor of its producer, which has received the answer: use a new number')
  end
  last_floor, known_until = tonumber(known[2] or lowest), tonumber(known[3] or 0)
  return nil
end

local function keep_answer(number, lowest, answer)
  if not calls then return end
  lowest = max(last_floor, min(tonumber(lowest), last_floor + FLOOR_STEP))
  local forgotten = {}
  for past = last_floor - last_floor % FORGOTTEN_AT_ONCE, lowest - lowest % FORGOTTEN_AT_ONCE - 1 do
    forgotten[#forgotten + 1] = format('%d', past)
  end
  if #forgotten > 0 then call('HDEL', calls, unpack(forgotten)) end
  if lowest == tonumber(number) then number, answer = 'last', number .. ' ' .. answer end
  call('HSET', calls, number, answer, 'floor', format('%d', lowest))
  if known_until < now + CALLS_KEPT_MS then
    local kept_for = CALLS_KEPT_MS + CALLS_SLACK_MS
    call('HSET', calls, 'until', format('%d', now + kept_for))
    call('PEXPIRE', calls, format('%d', kept_for))
  end
end
