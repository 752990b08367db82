-- Counts the ready operations that are ahead of one.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  id  ARGV[2] how many elements of its lane to look at, at most 10,000
-- Output   empty (no ready operation has this id), or how many elements are ahead in its lane, how many in higher
--          lanes, and 1 if the operation is further behind than the script looked. For an unhandled operation: how many
--          of its name are ahead, 0, 0; likewise for one that waits in no lane because of its limit key
-- Events   none (reads only)
-- include: base
-- include: record
-- include: linked_header
-- include: limit_key_names
local MOST = 10000
local head = head_of(ARGV[1])
if not head or state_of(head) ~= 'r' then return {} end
if stored_state_of(head) == 'u' then
  return { call('ZRANK', PREFIX .. 'unhandled:' .. set_number_of(head), ARGV[1]) or 0, 0, 0 }
end

local key = has_limit_key(head) and call('HGET', extras_key(ARGV[1]), 'limitKey')
local rank = key and call('ZRANK', waiting_of_key(key), ARGV[1])
if rank then return { rank, 0, 0 } end

local wanted = min(MOST, tonumber(ARGV[2]))
local lane, higher = PREFIX .. 'lane:' .. lane_of(head), 0
for number = tonumber(lane_of(head)) + 1, 4 do higher = higher + call('LLEN', PREFIX .. 'lane:' .. number) end
local position = position_in_lane(lane, header_of(head), '1', format('%d', wanted))
if position then return { position, higher, 0 } end
return { min(wanted, call('LLEN', lane)), higher, 1 }
