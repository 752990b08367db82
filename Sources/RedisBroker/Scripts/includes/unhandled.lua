-- Unhandled operations: a worker claimed them and does not know their name. They wait in a sorted set for each name, by lane and in the order
-- in which they were enqueued, until a worker that knows the name claims from it. They count as ready. The record of one has the letter u, and
-- where others have their start, the number of its set. What few calls need is made by one function, and not with each run of a script.
local function unhandled_sets()
  local COUNTS, NAMES, NEVER_STARTED = PREFIX .. 'unhandled', PREFIX .. 'unhandled:names', 'r' .. ZERO9 .. ZERO9
  local function key_of(number) return PREFIX .. 'unhandled:' .. number end
  local function number_of(head) return format('%d', tonumber(sub(head, 75, 83), 36)) end

  -- So many of a set are gone; a name without any is forgotten.
  local function count_gone(number, n)
    add('unhandled', -n)
    local name = call('HGET', NAMES, '#' .. number)
    if not name or tonumber(call('ZINCRBY', COUNTS, format('%d', -n), name)) > 0 then return end
    call('ZREM', COUNTS, name)
    call('HDEL', NAMES, name, '#' .. number)
  end

  -- A ready operation leaves its place: the set of its name, or its lane, where its reference stays behind.
  local function leave_ready(id, head)
    if sub(head, 65, 65) ~= 'u' then
      add('ghosts', 1)
      return
    end
    local number = number_of(head)
    call('SETRANGE', record_key(id), '64', NEVER_STARTED)
    if call('ZREM', key_of(number), id) == 1 then count_gone(number, 1) end
  end

  return leave_ready, { names = NAMES, never_started = NEVER_STARTED, key_of = key_of, number_of = number_of, count_gone = count_gone }
end
