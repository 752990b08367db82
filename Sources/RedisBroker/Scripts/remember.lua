-- Stores the result of an effect under the fence of the run that had it, once for each label.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2] fence  ARGV[3] id  ARGV[4] label  ARGV[5] result (JSON)
-- Output   a character: 1 stored, 0 the fence is stale, l too many labels, b too many bytes; or = and the result that
--          is stored
-- Events   none
-- include: base
-- include: record
-- SluiceDefaults.swift has the same values; a test compares the two.
local ONCE_LABELS = 64
local ONCE_BYTES = 65536
-- A removing command comes first: the effect has happened, so its result must be stored even when Redis is full.
call('HDEL', META, '')
local id, field, result = ARGV[3], 'once:' .. ARGV[4], ARGV[5]
local element = call('HGET', PREFIX .. 'inflight:' .. ARGV[1], ARGV[2])
if not element or id_of(element) ~= id or not is_reference(element) or call('EXISTS', record_key(id)) == 0 then return '0' end
local extras = extras_key(id)
local known = call('HGET', extras, field)
if known then return '=' .. known end
local labels, bytes = string.match(call('HGET', extras, 'onceSize') or '0 0', '^(%d+) (%d+)$')
labels, bytes = tonumber(labels) + 1, tonumber(bytes) + #ARGV[4] + #result
if labels > ONCE_LABELS then return 'l' end
if bytes > ONCE_BYTES then return 'b' end
call('HSET', extras, field, result, 'onceSize', format('%d %d', labels, bytes))
return '1'
