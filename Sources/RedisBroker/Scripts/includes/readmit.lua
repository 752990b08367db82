-- What a claim takes back of unhandled operations: see unhandled.lua. A file of its own, because it needs LPOP, which a producer may not use.
-- promote.lua, which stands before it, includes unhandled.lua.
local function readmission()
  local _, sets = unhandled_sets()

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
      local ids = call('ZRANGE', sets.key_of(number), '0', format('%d', most - 1))
      for i = count_of(ids), 1, -1 do
        local record = record_key(ids[i])
        local head = call('GETRANGE', record, '0', '82')
        if sub(head, 65, 65) == 'u' and sets.number_of(head) == number then
          call('SETRANGE', record, '64', sets.never_started)
          call('LPUSH', PREFIX .. 'lane:' .. sub(head, 3, 3), sub(head, 1, 64))
        end
        moved[ids[i]], most = number, most - 1
      end
    end

    local numbers = call('HMGET', sets.names, unpack(names))
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
        call('ZREM', sets.key_of(asked[i]), unpack(ids))
        sets.count_gone(asked[i], #ids)
      end
      is_left = is_left or call('EXISTS', sets.key_of(asked[i])) == 1
    end
    return is_left
  end

  return readmit, settle
end
