-- Ends operations well (group commit), then claims again if asked to.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2] 1 = a repeat  ARGV[3] epoch  ARGV[4] capacity to claim, 0 = none
-- ARGV[5]  the highest fence that the worker was ever given, and names: see claim.lua
-- ARGV[6]  number u of untracked operations  ARGV[7] number of their ids that follow, at most 50
-- ARGV[8…] u fences, the ids for the event, then for each tracked one: fence, id, result ('' = none); at most 100 of these keep
--          the call short
-- Output   1: '' = all are done, or a character for each, untracked first: 1 done, 2 already, 0 stale
--          2: the reply of a claim, or an empty array
-- Events   f for each that ended
-- include: base
-- include: limits
-- include: events
-- include: doorbell
-- include: records
-- include: ending
-- include: promote
-- include: take
-- include: flush
local FIRST = 8
call('HDEL', META, '')
local worker, untracked, ids = ARGV[1], tonumber(ARGV[6]), tonumber(ARGV[7])
local inflight = PREFIX .. 'inflight:' .. worker
local outcomes, done, all = {}, 0, true

-- A worker that was never swept owns what it was given, so one HDEL settles the batch. Otherwise, and where nothing is known of
-- it any more, each fence is asked for.
local function settle_untracked()
  if untracked == 0 then return end
  local last = FIRST + untracked - 1
  local about = call('HMGET', PREFIX .. 'worker:' .. worker, 'number', 'swept')
  if ARGV[2] ~= '1' and about[1] and not about[2] then
    done = call('HDEL', inflight, unpack(ARGV, FIRST, last))
    for i = 1, untracked do outcomes[i] = '1' end
    if done == untracked then return end
    all = false
    return
  end
  for i = 1, untracked do
    local removed = call('HDEL', inflight, ARGV[FIRST + i - 1])
    outcomes[i] = removed == 1 and '1' or '0'
    done = done + removed
    if removed == 0 then all = false end
  end
end

-- The finished record's state and end, next to each other, are all that changes in it.
local FINISHED = 'f' .. NOW36
local unnamed = 0
local function finish_record(id, result)
  local key = record_key(id)
  if call('SETRANGE', key, '64', FINISHED) < HEAD then
    -- There was no record: an update never makes one.
    call('DEL', key)
    return
  end
  if result ~= '' then call('HSET', extras_key(id), 'result', result) end
  note_end(id, 'f')
  if event_count < 50 then event(id, 'f', false) else unnamed = unnamed + 1 end
end

local function repeated(fence, id)
  local head = head_of(id)
  return head and fence_of(head) == tonumber(fence) and sub(head, 65, 65) == 'f' and '2' or '0'
end

-- Triples of fence, id and result from `first` on: read together and taken out together, before anything is added, since a
-- script must begin with a removing command to pass when Redis is full.
local function settle_tracked(first)
  local fences, taken = {}, {}
  for i = first, #ARGV, 3 do fences[#fences + 1] = ARGV[i] end
  if #fences == 0 then return end
  local held = call('HMGET', inflight, unpack(fences))
  for i = 1, #fences do
    if held[i] and sub(held[i], 39, 64) == ARGV[first + 3 * i - 2] then
      taken[#taken + 1] = fences[i]
    else
      held[i] = false
    end
  end
  if #taken > 0 then call('HDEL', inflight, unpack(taken)) end
  done = done + #taken
  for i = 1, #fences do
    local id, result = ARGV[first + 3 * i - 2], ARGV[first + 3 * i - 1]
    outcomes[untracked + i] = held[i] and '1' or repeated(fences[i], id)
    if held[i] then finish_record(id, result) end
  end
  all = all and #taken == #fences
end

settle_untracked()
local from = FIRST + untracked
local plain = done
for i = from, from + ids - 1 do
  if i - from < plain then event(ARGV[i], 'f', false) end
end
unnamed = unnamed + max(0, plain - ids)
add('finished', plain)
settle_tracked(from + ids)
events_unnamed('f', unnamed)
local cancelling = PREFIX .. 'cancelling:' .. worker
if call('EXISTS', cancelling) == 1 then
  if untracked > 0 then call('HDEL', cancelling, unpack(ARGV, FIRST, from - 1)) end
  for i = from + ids, #ARGV, 3 do call('HDEL', cancelling, ARGV[i]) end
end
add('executing', -done)

local claimed = {}
local capacity = tonumber(ARGV[4])
if capacity > 0 and ARGV[2] ~= '1' then claimed = take(worker, tonumber(ARGV[3]), capacity, ARGV[5]) end
flush_ended()
flush()
return { all and '' or concat(outcomes), claimed }
