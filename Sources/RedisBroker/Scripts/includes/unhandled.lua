-- Unhandled operations: a worker claimed them and does not know their name. They wait in a sorted set for each name, by lane and by the fence
-- under which they came, until a worker that knows the name claims from it. They count as ready. The record of one has the letter u, and
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

  -- For a claim of a worker that knows these names: the first of each go to the heads of their lanes, in their order, at most `most` and
  -- about REPLY_BYTES in all. Returns whether some are left, and the bytes of the largest that came back.
  local function readmit(names, most)
    local bytes, largest, is_left = 0, 0, false

    local function count_of(ids)
      for i = 1, #ids do
        local size = call('STRLEN', record_key(ids[i])) - HEAD + 64
        if bytes > 0 and bytes + size > REPLY_BYTES then return i - 1 end
        bytes, largest = bytes + size, max(largest, size)
      end
      return #ids
    end

    local function readmit_from(number)
      local ids = call('ZRANGE', key_of(number), '0', format('%d', most - 1))
      local count = count_of(ids)
      if count == 0 then return end
      for i = count, 1, -1 do
        local record = record_key(ids[i])
        local head = call('GETRANGE', record, '0', '82')
        if sub(head, 65, 65) == 'u' and number_of(head) == number then
          call('SETRANGE', record, '64', NEVER_STARTED)
          call('LPUSH', PREFIX .. 'lane:' .. sub(head, 3, 3), sub(head, 1, 64))
        end
      end
      call('ZREMRANGEBYRANK', key_of(number), '0', format('%d', count - 1))
      count_gone(number, count)
      most = most - count
    end

    local numbers = call('HMGET', NAMES, unpack(names))
    for i = 1, #names do
      if numbers[i] then
        if most > 0 then readmit_from(numbers[i]) end
        is_left = is_left or call('EXISTS', key_of(numbers[i])) == 1
      end
    end
    return is_left, largest
  end

  return leave_ready, readmit
end
