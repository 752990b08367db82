-- Cancels untracked operations that run: they have no record and are looked for among what workers hold, a part of it in each call.
-- What is started meanwhile is found by its intent, if cancel.lua stored one.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] reason  ARGV[3] number of ids, at most 500
-- ARGV[4]  where to go on in what the first worker holds, 0 = the beginning  ARGV[5…] ids, then workers
-- Output   number of workers that are done, where to go on with the next one, then id and worker of each that was found
-- Events   none
-- include: base
-- include: limits
-- include: order
call('HDEL', META, '')
local by, reason, cursor = ARGV[1], ARGV[2], ARGV[4]
local trace = format('%d ', now) .. by .. ' ' .. reason
local first_worker = 5 + ARGV[3]
local wanted, found = {}, {}
for i = 5, first_worker - 1 do wanted[ARGV[i]] = true end
local looked, entries, bytes = 0, 0, 0

local function is_full() return looked >= BATCH or bytes >= REPLY_BYTES end

-- How many entries to read next, by what those had that were read: each may have some MiB.
local function affordable()
  if entries == 0 then return 10 end
  return max(1, min(100, floor((REPLY_BYTES - bytes) * entries / bytes)))
end

local function look_at(worker, fence, element)
  local id = sub(element, 39, 64)
  entries, bytes = entries + 1, bytes + #element
  if not wanted[id] then return end
  wanted[id] = nil
  order(worker, fence, trace, reason)
  call('HDEL', PREFIX .. 'intents', id)
  found[#found + 1] = id
  found[#found + 1] = worker
end

local function look_through(worker)
  repeat
    local scan = call('HSCAN', PREFIX .. 'inflight:' .. worker, cursor, 'COUNT', affordable())
    cursor = scan[1]
    for i = 1, #scan[2], 2 do look_at(worker, scan[2][i], scan[2][i + 1]) end
    looked = looked + 1 + #scan[2] / 2
  until cursor == '0' or is_full()
end

local worker = first_worker
while worker <= #ARGV and not is_full() do
  look_through(ARGV[worker])
  if cursor == '0' then worker = worker + 1 end
end
return { worker - first_worker, cursor, unpack(found) }
