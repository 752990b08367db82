-- A claim takes back unhandled operations: see unhandled.lua. The functions have a file of their own, because they need
-- LPOP, which a producer may not use. Few claims need them, so one function makes them, and not each run of the script.
-- include: unhandled
-- include: limits
-- include: size
-- include: limit_keys
local function readmission()
  -- Moves the first operations of each name to the heads of their lanes, in their order, for a worker that handles
  -- these names. At most `most` and about REPLY_BYTES in all are moved. All stay in their sets until `settle`, which
  -- has to follow. Returns the bytes of the largest.
  local moved, references, asked = {}, {}, {}
  local function readmit(names, most)
    local bytes, largest = 0, 0

    local function count_of(ids)
      for i = 1, #ids do
        local size = bytes_of_record(ids[i])
        if bytes > 0 and bytes + size > REPLY_BYTES then return i - 1 end
        bytes, largest = bytes + size, max(largest, size)
      end
      return #ids
    end

    local function readmit_from(number)
      local ids = call('ZRANGE', unhandled_key(number), '0', format('%d', most - 1))
      for i = count_of(ids), 1, -1 do
        local head = head_of(ids[i])
        if head and stored_state_of(head) == 'u' and set_number_of(head) == number then
          as_ready(ids[i])
          if not (has_limit_key(head) and limits_of_keys().enter(ids[i], head)) then
            references[ids[i]] = header_of(head)
            call('LPUSH', PREFIX .. 'lane:' .. lane_of(head), header_of(head))
          end
        end
        moved[ids[i]], most = number, most - 1
      end
    end

    local numbers = call('HMGET', PREFIX .. 'unhandled:names', unpack(names))
    for i = 1, #names do
      if numbers[i] then
        asked[#asked + 1] = numbers[i]
        if most > 0 then readmit_from(numbers[i]) end
      end
    end
    return largest
  end

  -- Returns the id at the head of a lane if readmit() put it there. The head may also be a stale reference to one of
  -- these ids.
  local function id_left_in(key)
    local element = call('LINDEX', key, '0')
    local id = element and id_of(element)
    return id and references[id] == element and id
  end

  -- Call this after the claim has taken from the lanes. Operations that the claim did not reach are still at the heads
  -- of their lanes, and leave them again; the others leave their sets. Returns whether some of the names have
  -- operations left.
  local function settle()
    for lane = 0, 4 do
      local key = PREFIX .. 'lane:' .. lane
      local id = id_left_in(key)
      while id do
        call('LPOP', key)
        write_head(record_key(id), 'u' .. ZERO9 .. time36(tonumber(moved[id])))
        moved[id] = nil
        id = id_left_in(key)
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
        call('ZREM', unhandled_key(asked[i]), unpack(ids))
        count_unhandled_gone(asked[i], #ids)
      end
      is_left = is_left or call('EXISTS', unhandled_key(asked[i])) == 1
    end
    return is_left
  end

  return readmit, settle
end
