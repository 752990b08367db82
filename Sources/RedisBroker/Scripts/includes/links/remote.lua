-- What this queue knows of operations in other queues that some of its own depend on. Such a one is called QUEUE/ID here. The hash `remote:QUEUE/ID` has
-- `sequence` and `state` of its last end of which this queue has heard (no state = of none), the `result` if it is short, since when its queue does not
-- know it (`unknownSince`), and how often that was asked (`asks`). `asking` says when each of them is looked at again: a message may be lost.
-- include: needs
local ASKING = PREFIX .. 'asking'
local function remote_key(name) return PREFIX .. 'remote:' .. name end

local FIRST_ASK = 10000
local function ask_soon(name)
  call('HDEL', remote_key(name), 'asks')
  call('ZADD', ASKING, 'LT', format('%d', now + FIRST_ASK), name)
end

-- How one stands that its queue does not know, after the last end of it that this queue has heard of.
local function unknown_state(name, since, last, ended)
  -- So long a queue may not know an operation until that counts as its removal.
  local UNKNOWN_FOR = 600000
  if not since then call('HSET', remote_key(name), 'unknownSince', NOW) end
  local is_over = now - tonumber(since or now) >= UNKNOWN_FOR
  if is_over and ended ~= 'm' then return last + 1, 'm' end
  return last, '-'
end

-- Its queue says that it is in this state (the letter of an end, - = it has not ended, ? = it is not there) with this sequence. Returns sequence and
-- letter of its last end (false = there was none), and whether this queue has not heard of that before. An end counts only with a higher sequence than the
-- last one; that it has finished also after a failure with a higher one, since it is final.
local function hear_of(name, sequence, state)
  local key = remote_key(name)
  local known = call('HMGET', key, 'sequence', 'state', 'unknownSince')
  local last, ended = tonumber(known[1] or 0), known[2]
  if not known[1] then
    call('HSET', key, 'sequence', '0')
    ask_soon(name)
  end
  if state == '?' then
    sequence, state = unknown_state(name, known[3], last, ended)
  elseif known[3] then
    call('HDEL', key, 'unknownSince')
  end
  if not is_end(state) then return last, ended end
  if state == 'f' and ended ~= 'f' then sequence = max(sequence, last + 1) end
  if sequence <= last then return last, ended end
  call('HDEL', key, 'result')
  call('HSET', key, 'sequence', format('%.0f', sequence), 'state', state)
  return sequence, state, true
end
