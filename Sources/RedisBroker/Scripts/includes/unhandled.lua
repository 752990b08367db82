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

  -- For a claim of a worker that knows these names: the first of each go to the heads of their lanes, in their order, at most `most` and
  -- about REPLY_BYTES in all, and stay in their sets until `settle`, which has to follow. Returns the bytes of the largest.
  local moved, asked = {}, {}
  local function readmit(names, most)
    local bytes, largest = 0, 0

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
      for i = count_of(ids), 1, -1 do
        local record = record_key(ids[i])
        local head = call('GETRANGE', record, '0', '82')
        if sub(head, 65, 65) == 'u' and number_of(head) == number then
          call('SETRANGE', record, '64', NEVER_STARTED)
          call('LPUSH', PREFIX .. 'lane:' .. sub(head, 3, 3), sub(head, 1, 64))
        end
        moved[ids[i]], most = number, most - 1
      end
    end

    local numbers = call('HMGET', NAMES, unpack(names))
    for i = 1, #names do
      if numbers[i] then
        asked[#asked + 1] = numbers[i]
        if most > 0 then readmit_from(numbers[i]) end
      end
    end
    return largest
  end

  -- After lanes were taken from: what others went before of is at the head of its lane and goes out of it again; the rest leaves its set.
  -- Returns whether some of the names are left.
  local function settle()
    for lane = 0, 4 do
      local key = PREFIX .. 'lane:' .. lane
      local id = sub(call('LINDEX', key, '0') or '', 39, 64)
      while moved[id] do
        call('LPOP', key)
        call('SETRANGE', record_key(id), '64', 'u' .. ZERO9 .. time36(tonumber(moved[id])))
        moved[id] = nil
        id = sub(call('LINDEX', key, '0') or '', 39, 64)
      end
    end
    local gone = {}
    for id, number in pairs(moved) do
      gone[number] = gone[number] or {}
      table.insert(gone[number], id)
    end
    local is_left = false
    for i = 1, #asked do
      local ids = gone[asked[i]]
      if ids then
        call('ZREM', key_of(asked[i]), unpack(ids))
        count_gone(asked[i], #ids)
      end
      is_left = is_left or call('EXISTS', key_of(asked[i])) == 1
    end
    return is_left
  end

  return leave_ready, readmit, settle
end
