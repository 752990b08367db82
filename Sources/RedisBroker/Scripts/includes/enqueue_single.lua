-- The shortest way of the commonest call: one operation that is ready at once, never expires and has a usual size, of a producer whose
-- last call is known. It does what the rest of the script would do; a test compares what both leave.
-- Everything else, and whatever is not valid, goes on to the rest.
local front, operation, number, lowest = ARGV[4], ARGV[6], ARGV[2], ARGV[3]
if #ARGV == 6 and ARGV[5] == '1' and #operation + 38 <= USUAL_BYTES and number == lowest
  and #number <= 15 and find(number, '^[1-9]%d*$')
  and #front == 27 and find(front, '^1[01][0-4][0-9a-z]%d%d%d%d%d000000000000000000$') then
  local calls = PREFIX .. 'calls:' .. ARGV[1]
  local known = call('HMGET', calls, 'floor', 'until', 'last', number)
  local last_floor, ordinal = tonumber(known[1] or 0), tonumber(number)
  local _, last = find(operation, '^[0-7][0-9A-HJKMNP-TV-Z]+')
  -- With these three and no more there is nothing to forget.
  local forgets = ordinal - ordinal % FORGOTTEN_AT_ONCE > last_floor and call('HLEN', calls) > 3
  if last == 26 and last_floor > 0 and ordinal > last_floor and ordinal - last_floor <= FLOOR_STEP
    and known[3] and not known[4] and not forgets and tonumber(known[2] or 0) >= now + CALLS_KEPT_MS then
    local id, lane, answer = sub(operation, 1, 26), PREFIX .. 'lane:' .. sub(front, 3, 3), '1'
    local header = sub(front, 1, 9) .. NOW36 .. ZERO9 .. format('%011x', call('HINCRBY', META, 'sequence', '1'))
    local is_tracked = byte(front, 2) == 49
    if is_tracked then
      header = header .. id
      local record = header .. 'r' .. NEVER_RAN .. NOW36 .. sub(operation, 27)
      if call('MSETNX', PREFIX .. id, record) == 1 then call('RPUSH', lane, header) else answer = '0' end
    else
      call('RPUSH', lane, header .. operation)
    end
    if answer == '1' and call('LLEN', PREFIX .. 'bell') == 0 then call('RPUSH', PREFIX .. 'bell', '1') end
    call('HSET', calls, 'last', number .. ' ' .. answer, 'floor', number)
    if answer == '1' then
      call('HINCRBY', TOTALS, 'enqueued', '1')
      local place = format('%d ', call('HINCRBY', META, 'eventSequence', '1'))
      local text = place .. place .. 'r=1 r' .. id
      call('PUBLISH', PREFIX .. 'events', text)
      if is_tracked then call('XADD', PREFIX .. 'stream', 'MAXLEN', '~', '10000', '*', 'e', text) end
    end
    return answer
  end
end
-- end of the base
