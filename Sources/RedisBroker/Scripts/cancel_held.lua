-- Cancels untracked operations that run. An untracked operation has no record, so the in-flight hashes of workers are
-- searched, a part in each call. An operation that starts meanwhile is found by its intent, if cancel.lua stored one.
-- Otherwise it is missed, like an operation that still waits.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] reason  ARGV[3] number of ids, at most 500
-- ARGV[4]  the last fence that was looked at in the first worker, 0 = none  ARGV[5] 1 = forced: found operations end at
--          once  ARGV[6…] ids, then workers
-- Output   number of workers that are done, the last fence that was looked at in the next one, then id and worker of
--          each found operation
-- Events   c for each that a forced cancel ended, and the change, if any was found
-- include: base
-- include: header
-- include: cancel_request
-- include: force_cancel
-- include: flush
call('HDEL', META, '')
local last = tonumber(ARGV[4])
local trace = format('%d ', now) .. ARGV[1] .. ' ' .. ARGV[2]
local first_worker = 6 + ARGV[3]
local wanted, found = {}, {}
for i = 6, first_worker - 1 do wanted[ARGV[i]] = true end
local looked, bytes = 0, 0

local function is_full() return looked >= BATCH or bytes >= REPLY_BYTES end

local function look_at(worker, fence, element)
  local id = id_of(element)
  bytes = bytes + #element
  if not wanted[id] then return end
  wanted[id] = nil
  if ARGV[5] == '1' then force_cancel(worker, fence, id, trace) else request_cancel(worker, fence, trace) end
  call('HDEL', PREFIX .. 'intents', id)
  found[#found + 1] = id
  found[#found + 1] = worker
end

-- Returns the fences of a worker after the last one, in order, and whether these are all. Of many fences, it returns
-- only about the first BATCH, because sorting all of them takes longer than searching these.
local function next_fences(worker)
  local keys, rest, lowest, highest = call('HKEYS', PREFIX .. 'inflight:' .. worker), {}, nil, nil
  for i = 1, #keys do
    local fence = tonumber(keys[i])
    if fence > last then
      rest[#rest + 1] = fence
      lowest, highest = min(lowest or fence, fence), max(highest or fence, fence)
    end
  end
  local first = rest
  if #rest > 2 * BATCH then
    local bound = lowest + (highest - lowest) * BATCH / #rest
    first = {}
    for i = 1, #rest do
      if rest[i] <= bound then first[#first + 1] = rest[i] end
    end
  end
  table.sort(first)
  return first, first == rest
end

-- Looks at the operations of a worker. Returns whether all were looked at.
local function look_through(worker)
  local fences, are_all = next_fences(worker)
  looked = looked + 1
  for i = 1, #fences do
    if is_full() then return false end
    local fence = format('%d', fences[i])
    look_at(worker, fence, call('HGET', PREFIX .. 'inflight:' .. worker, fence))
    looked, last = looked + 1, fences[i]
  end
  if are_all then last = 0 end
  return are_all
end

local worker = first_worker
while worker <= #ARGV and not is_full() and look_through(ARGV[worker]) do worker = worker + 1 end
if #found > 0 then note_change('cancel', ARGV[1], #found / 2, ARGV[2], found[1]) end
flush()
return { worker - first_worker, format('%d', last), unpack(found) }
