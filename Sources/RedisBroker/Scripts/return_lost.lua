-- Puts a ready operation without a reference back into its lane, for doctor --fix.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  id  ARGV[2] head of its record, as doctor read it
-- Output   1 = done, 0 = the operation has changed, or has its place
-- Events   none: the operation was ready, and still is
-- The new revision makes a reference stale that is further than LOOK_AHEAD from both ends of a long lane, so the
-- operation never starts twice.
-- include: base
-- include: record
-- include: linked_header
-- include: limit_key_names
-- include: enter_queue
-- include: flush
-- A removing command first: a fix must work when Redis is full.
call('HDEL', META, '')
local LOOK_AHEAD = '10000'
local id, head = ARGV[1], head_of(ARGV[1])
if head ~= ARGV[2] or stored_state_of(head) ~= 'r' then return '0' end

local lane = PREFIX .. 'lane:' .. lane_of(head)
local function stands_in_lane(rank)
  return position_in_lane(lane, header_of(head), rank, LOOK_AHEAD)
end

local key = has_limit_key(head) and call('HGET', extras_key(id), 'limitKey')
if stands_in_lane('1') or stands_in_lane('-1') or (key and call('ZSCORE', waiting_of_key(key), id)) then return '0' end
if key then limits_of_keys().leave(id) end
enter_lane(id, changed_header(head, next_revision(head)))
flush()
return '1'
