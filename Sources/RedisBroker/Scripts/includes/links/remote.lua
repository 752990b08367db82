-- Operations in other queues, called QUEUE/ID here, that operations of this queue depend on. The hash `remote:QUEUE/ID`
-- has the last end that this queue has received (`sequence` and `state`; no state = none) and the `result` if it is
-- short. `unknownSince` says since when the other queue does not know the operation, `asks` how often it was asked.
-- `asking` says when each operation is looked at again: a message may be lost.
-- include: needs
local ASKING = PREFIX .. 'asking'
local function remote_key(name) return PREFIX .. 'remote:' .. name end

local FIRST_ASK = 10000
local function ask_soon(name)
  call('HDEL', remote_key(name), 'asks')
  call('ZADD', ASKING, 'LT', format('%d', now + FIRST_ASK), name)
end

-- Returns sequence and state of an operation that its queue does not know. `last` and `ended`: its last end that this
-- queue has received.
local function unknown_state(name, since, last, ended)
  -- An operation that its queue does not know for this long, in ms, counts as removed.
  local UNKNOWN_FOR = 600000
  if not since then call('HSET', remote_key(name), 'unknownSince', NOW) end
  local is_over = now - tonumber(since or now) >= UNKNOWN_FOR
  if is_over and ended ~= 'm' then return last + 1, 'm' end
  return last, '-'
end

-- Takes a state (the letter of an end, - = not ended, ? = unknown) and sequence that the other queue has reported.
-- Returns sequence and letter of the operation's last end (false = none), and whether that end is news to this queue.
-- An end counts only with a higher sequence than the last one. After another end, finished always counts, with a raised
-- sequence, since it is final.
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
