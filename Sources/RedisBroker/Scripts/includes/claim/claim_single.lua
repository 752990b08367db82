-- in the base
-- The fast path of an idle worker's claim, in a queue where only one ordinary operation of the middle lane waits. The
-- script decides by reading alone, then does what the rest of the script would do. All other claims continue with the
-- rest.
local worker, middle = ARGV[1], PREFIX .. 'lane:2'
local inflight = PREFIX .. 'inflight:' .. worker
if ARGV[5] == '1' and find(ARGV[3], '^[1-9]') and not find(ARGV[4], ' ', 1, true) and call('LLEN', middle) == 1
  and call('EXISTS', inflight, PREFIX .. 'lane:0', PREFIX .. 'lane:1', PREFIX .. 'lane:3', PREFIX .. 'lane:4',
    PREFIX .. 'scheduled', PREFIX .. 'retrying', PREFIX .. 'expiring') == 0 then
  local m = call('HMGET', META, 'fence', 'paused', 'intents', 'next', 'largest', 'standing', 'limits')
  local lease = call('ZSCORE', PREFIX .. 'leases', worker)
  local about = call('HMGET', PREFIX .. 'worker:' .. worker, 'epoch', 'number')
  local element = call('LINDEX', middle, '0')
  local flags = byte(element, 2)
  local is_reference = flags ~= 48
  local key = PREFIX .. sub(element, 39, 64)
  local answer = element
  if is_reference then answer = call('MGET', key)[1] end
  if lease and tonumber(lease) >= now and tonumber(about[1] or 0) <= tonumber(ARGV[2]) and about[2]
    and tonumber(m[1] or 0) >= tonumber(ARGV[4]) and not (m[2] or m[3] or m[4] or m[5] or m[6] or m[7])
    -- Operations with other flags go on to the rest.
    and answer and flags <= 49 and sub(element, 19, 27) == ZERO9
    and (not is_reference or byte(answer, 65) == 114 and find(answer, element, 1, true) == 1) then
    -- A removing command first: claims must work when Redis is full.
    call('LPOP', middle)
    local fence = call('HINCRBY', META, 'fence', '1')
    if is_reference then call('SETRANGE', key, '64', 'x' .. ZERO9 .. NOW36 .. format('%011x', fence) .. about[2]) end
    call('HSET', inflight, format('%d', fence), element)
    call('HINCRBY', TOTALS, 'started', '1')
    call('HINCRBY', TOTALS, 'executing', '1')
    local place = format('%d ', call('HINCRBY', META, 'eventSequence', '1'))
    pcall('PUBLISH', CHANNELS .. 'events', place .. place .. 'x=1 x' .. sub(element, 39, 64))
    return { 'ok', fence - 1, -1, 0, answer }
  end
end
