-- Unhandled operations: a worker claimed them and does not know their name. They wait in a sorted set for each name, by lane and in the order
-- in which they were enqueued, until a worker that knows the name claims from it. They count as ready. The record of one has the letter u, and
-- where others have their start, the number of its set.
-- include: write_record
local function unhandled_key(number) return PREFIX .. 'unhandled:' .. number end

-- Ready again, or about to end: as it was before it was set aside.
local function as_ready(id) write_head(record_key(id), 'r' .. NOT_STARTED) end

-- Subtracts n operations that left a set. Deletes the name when its count reaches 0.
local function count_unhandled_gone(number, n)
  local counts, names = PREFIX .. 'unhandled', PREFIX .. 'unhandled:names'
  add('unhandled', -n)
  local name = call('HGET', names, '#' .. number)
  if not name or tonumber(call('ZINCRBY', counts, format('%d', -n), name)) > 0 then return end
  call('ZREM', counts, name)
  call('HDEL', names, name, '#' .. number)
end

local function leave_unhandled(id, head)
  local number = set_number_of(head)
  as_ready(id)
  if call('ZREM', unhandled_key(number), id) == 1 then count_unhandled_gone(number, 1) end
end
