-- Reads statistics over time, the newest first.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  m = minutes of the queue, h = hours by operation name, d = days by operation name
-- ARGV[2]  how many of the newest are left out  ARGV[3] how many are read: at most 480 minutes, 8 hours or days
-- ARGV[4]  server time that decides which is the newest; '' = now
-- Output   server time, then for each that exists: number of the minute, hour or day since 1970, name ('' = the queue),
--          counts
-- Events   none (reads only)
-- include: base
local unit, skip, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local time = tonumber(ARGV[4]) or now
local length = ({ m = 60000, h = 3600000, d = 86400000 })[unit]
local newest = floor(time / length) - skip
local reply = { format('%d', time) }
local function put(number, name, counts)
  reply[#reply + 1] = format('%d', number)
  reply[#reply + 1] = name
  reply[#reply + 1] = counts
end

local function put_minutes(hour, first, last)
  local fields = {}
  for minute = last, first, -1 do fields[#fields + 1] = format('%d', minute % 60) end
  local values = call('HMGET', PREFIX .. 'statistics:m:' .. format('%d', hour), unpack(fields))
  for i = 1, #fields do
    if values[i] then put(last + 1 - i, '', values[i]) end
  end
end

local oldest = newest - min(count, unit == 'm' and 480 or 8) + 1
if unit == 'm' then
  for hour = floor(newest / 60), floor(oldest / 60), -1 do
    put_minutes(hour, max(oldest, hour * 60), min(newest, hour * 60 + 59))
  end
  return reply
end
for number = newest, oldest, -1 do
  local values = call('HGETALL', PREFIX .. 'statistics:' .. unit .. ':' .. format('%d', number))
  for i = 1, #values, 2 do put(number, values[i], values[i + 1]) end
end
return reply
