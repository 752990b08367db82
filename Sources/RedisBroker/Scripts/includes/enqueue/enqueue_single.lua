-- in the base
-- include: limits
-- The fast path of the commonest call. The call has one operation, which is ready at once, never expires and has a
-- usual size. Both the call and the one before it are their own floors. The result is the same as that of the rest of
-- the script; a test compares both. All other calls, also invalid ones, go on to the rest.
local front, operation, number = ARGV[4], ARGV[6], ARGV[2]
if #ARGV == 6 and ARGV[5] == '1' and number == ARGV[3] and #number <= 15 and #operation + 38 <= USUAL_BYTES
  and sub(front, 4) == '000001000000000000000000' then
  local calls = PREFIX .. 'calls:' .. ARGV[1]
  local known = call('HMGET', calls, 'floor', 'until', 'last', number)
  local version, flags, lane = byte(front, 1, 3)
  local _, id_end = find(operation, '^[0-7][0-9A-HJKMNP-TV-Z]+')
  -- With only three fields no answer has to be deleted.
  if id_end == 26 and version == 49 and (flags == 48 or flags == 49) and lane >= 48 and lane <= 52
    and known[1] and number == format('%d', known[1] + 1) and known[3] and not known[4]
    and tonumber(known[2] or 0) >= now + CALLS_KEPT_MS
    and (number % FORGOTTEN_AT_ONCE > 0 or call('HLEN', calls) <= 3) then
    local id, lane, answer = sub(operation, 1, 26), PREFIX .. 'lane:' .. char(lane), '1'
    local header = sub(front, 1, 9) .. NOW36 .. ZERO9 .. format('%011x', call('HINCRBY', META, 'sequence', '1'))
    if flags == 49 then
      header = header .. id
      local record = header .. 'r' .. NEVER_RAN .. NOW36 .. sub(operation, 27)
      if call('MSETNX', PREFIX .. id, record) == 1 then call('RPUSH', lane, header) else answer = '0' end
    else
      call('RPUSH', lane, header .. operation)
    end
    call('HSET', calls, 'last', number .. ' ' .. answer, 'floor', number)
    if answer == '1' then
      if call('EXISTS', PREFIX .. 'wake', PREFIX .. 'full') == 0 then call('RPUSH', PREFIX .. 'wake', '1') end
      local place = format('%d ', call('HINCRBY', META, 'eventSequence', '1'))
      pcall('PUBLISH', CHANNELS .. 'events', place .. place .. 'r=1 r' .. id)
    else
      call('HINCRBY', TOTALS, 'notEnqueued', '1')
    end
    return answer
  end
end
