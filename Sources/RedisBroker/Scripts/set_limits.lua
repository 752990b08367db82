-- Sets or removes limits of a queue, and of its limit keys.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] how many may run at once: '' = as it was, 0 = any number
-- ARGV[3]  the rate, "starts period-in-ms burst": '' = as it was, 0 = any number
-- ARGV[4…] for each key (* = all keys without limits of their own): the key, how many of it may run at once, its
--          weight, and how many of it may start, as above. For each value: '' = as it was, - = as for all keys
-- Output   the limits as META has them ('' = none), then each key and its limits; or an error, if there are too many
-- Events   the change
-- include: base
-- include: room
-- include: limit_keys
-- include: flush
local KEYS_WITH_LIMITS = 1000
-- Refuses a call that would give limits of their own to too many keys. A key that has limits can always be changed.
local function check_key_count()
  local had, new = call('HLEN', PREFIX .. 'keyLimits'), 0
  for i = 4, #ARGV, 4 do
    if not call('HGET', PREFIX .. 'keyLimits', ARGV[i]) then new = new + 1 end
  end
  if new == 0 or had + new <= KEYS_WITH_LIMITS then return nil end
  return redis.error_reply(format('ERR sluice: at most %d limit keys may have their own limits: %d have, and this call adds %d. Remove the limits of other keys first',
    KEYS_WITH_LIMITS, had, new))
end
local refusal = check_key_count()
if refusal then return refusal end
-- A removing command first: a change of limits must work when Redis is full.
call('DEL', PREFIX .. 'full')
local by, concurrency, rate = ARGV[1], ARGV[2], ARGV[3]
local known = call('HMGET', META, 'limits', 'bucket')
local old_concurrency, old_rate = string.match(known[1] or '0', '^(%d+) ?(.*)$')
if concurrency == '' then concurrency = old_concurrency end
if rate == '' then rate = old_rate elseif rate == '0' then rate = '' end

local changes = {}
local function note(text) changes[#changes + 1] = text end
if ARGV[2] ~= '' then note('concurrency ' .. (ARGV[2] == '0' and 'none' or ARGV[2])) end
-- A period in the largest unit that divides it: 's' for one second, '1m', '90s', '250ms'
local UNITS = { { 86400000, 'd' }, { 3600000, 'h' }, { 60000, 'm' }, { 1000, 's' }, { 1, 'ms' } }
local function period_text(period)
  for i = 1, #UNITS do
    local length, unit = UNITS[i][1], UNITS[i][2]
    if period % length == 0 then return period == 1000 and unit or format('%d%s', period / length, unit) end
  end
end
local function rate_text(text)
  local count, period, burst = string.match(text, '^(%d+) (%d+) (%d+)$')
  return format('rate %s/%s (burst %s)', count, period_text(tonumber(period)), burst)
end
if ARGV[3] ~= '' then note(rate == '' and 'rate none' or rate_text(rate)) end

-- A change for all keys takes effect now for the KEYS_AT_ONCE keys with most ready operations. Other keys follow when
-- one of their operations ends.
local KEYS_AT_ONCE = 100
local function touch(key)
  if key ~= '*' then
    limits_of_keys().touch(key)
    return
  end
  local keys = call('ZREVRANGE', PREFIX .. 'keyed', '0', format('%d', KEYS_AT_ONCE - 1))
  for i = 1, #keys do limits_of_keys().touch(keys[i]) end
end

local function set_key(key, places, weight, starts)
  local old_places, old_weight, old_starts = string.match(call('HGET', PREFIX .. 'keyLimits', key) or '- -', '^(%S+) (%S+) ?(.*)$')
  local name = key == '*' and 'key.' or 'key:' .. key .. '.'
  if places ~= '' then note(name .. 'concurrency ' .. (places == '-' and 'none' or places)) else places = old_places end
  if weight ~= '' then note(name .. 'weight ' .. (weight == '-' and 'none' or weight)) else weight = old_weight end
  if starts ~= '' then note(name .. (starts == '-' and 'rate none' or rate_text(starts))) else starts = old_starts end
  local text = places .. ' ' .. weight
  if find(starts, '^%d') then text = text .. ' ' .. starts end
  if text == '- -' then call('HDEL', PREFIX .. 'keyLimits', key) else call('HSET', PREFIX .. 'keyLimits', key, text) end
  touch(key)
end
for i = 4, #ARGV, 4 do set_key(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end

local limits = rate == '' and concurrency or concurrency .. ' ' .. rate
local of_keys = call('HGETALL', PREFIX .. 'keyLimits')
local has_key_rate = false
for i = 2, #of_keys, 2 do has_key_rate = has_key_rate or find(of_keys[i], '^%S+ %S+ ') end
if not has_key_rate then call('UNLINK', PREFIX .. 'keyBuckets') end
if limits == '0' then
  limits = ''
  call('HDEL', META, 'limits', 'bucket')
else
  call('HSET', META, 'limits', limits)
  if rate == '' then call('HDEL', META, 'bucket') end
  if places_of(limits) == 0 then mark_full() end
end
if limits == '' and #of_keys == 0 then call('HDEL', META, 'limitTrace') else call('HSET', META, 'limitTrace', NOW .. ' ' .. by .. ' ') end
announce_room()
if #changes > 0 then note_change('limit', by, 0, concat(changes, ', ')) end
flush()
local reply = { limits }
for i = 1, #of_keys do reply[i + 1] = of_keys[i] end
return reply
