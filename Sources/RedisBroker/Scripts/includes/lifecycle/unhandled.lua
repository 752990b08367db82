-- Unhandled operations: a worker claimed them and does not handle their name. Each name has a sorted set, in which they
-- wait by lane and enqueue order until a worker that handles the name claims. Unhandled operations count as ready. The
-- record of one has the letter u, and the number of its set in the place of the start.
-- include: write_record
local function unhandled_key(number) return PREFIX .. 'unhandled:' .. number end

-- Restores the record from before the operation was set aside. The operation is ready again, or about to end.
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
