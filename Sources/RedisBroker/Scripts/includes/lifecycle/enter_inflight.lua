-- Operations start: each enters the in-flight hash of its worker under a new fence, and its record says so.
-- include: write_record
-- include: events
-- Redis stores a hash whose values have up to 64 bytes as a list, which each HSET walks. One longer value makes it a
-- table at once.
local PADDING = ' '
local STARTED = 'x' .. ZERO9 .. NOW36 .. '%011x'

-- Takes n fences. Returns the fence before the first. If Redis has lost its last writes, the counter is behind the
-- highest fence that the worker got.
local function take_fences(n, highest)
  local fence = call('HINCRBY', META, 'fence', format('%d', n)) - n
  if fence >= highest then return fence end
  call('HSET', META, 'fence', format('%d', highest + n))
  return highest
end

-- Starts the operations that a claim has taken. Returns the fence before the first.
local function enter_inflight(worker, number, taken, highest)
  local n = #taken
  if n == 0 then return 0 end
  local fence = take_fences(n, highest)
  local inflight, started = {}, STARTED .. number
  for i = 1, n do
    inflight[2 * i - 1] = format('%d', fence + i)
    local reference = taken.references[i]
    if reference then
      inflight[2 * i] = i == 1 and reference .. PADDING or reference
      write_head(taken.keys[i], format(started, fence + i))
    else
      inflight[2 * i] = taken[i]
    end
  end
  events_of(taken, 'x')
  call('HSET', PREFIX .. 'inflight:' .. worker, unpack(inflight))
  add('started', n)
  add('executing', n)
  return fence
end
