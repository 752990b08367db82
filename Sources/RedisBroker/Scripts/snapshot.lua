-- Reads all that a screen shows of one queue, in one step; bounded by 200 workers and the executing rows asked for.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  executing rows, at most 200
-- Output   time, ready with unhandled, scheduled, retrying, finished, dead, cancelled, expired, milliseconds that the
--          oldest ready operation has waited (-1 = none), meta fields, totals, workers (id, lease until, in flight,
--          heartbeat at, info, course, slots, …), executing rows (worker, fence, element or record cut to 1 KiB, 1 if
--          it is a record, progress, when its cancel was requested, …), number of names of unhandled operations, the 20
--          names with most of them (name, how many, …), blocked, limit keys: their number, limits (key, limits, …) and
--          the 20 with most ready operations (key, ready, of these in no lane, running, when all starts of its rate are
--          back in microseconds, …)
-- Events   none
-- include: base
-- include: record
-- include: fences
-- include: limit_key_names
-- The bytes that are shown of an executing operation.
local SHOWN_BYTES = 1024
local rows = tonumber(ARGV[1])
local ready, oldest = 0, -1
for lane = 0, 4 do
  local key = PREFIX .. 'lane:' .. lane
  local length = call('LLEN', key)
  ready = ready + length
  if length > 0 then
    local head = call('LINDEX', key, 0)
    oldest = max(oldest, now - ready_at_of(head))
  end
end
local left = call('HMGET', TOTALS, 'stale', 'unhandled', 'keyed')
ready = ready - tonumber(left[1] or 0) + tonumber(left[2] or 0) + tonumber(left[3] or 0)

local unhandled = call('ZREVRANGE', PREFIX .. 'unhandled', 0, 19, 'WITHSCORES')
for i = 1, #unhandled, 2 do
  local number = call('HGET', PREFIX .. 'unhandled:names', unhandled[i])
  local first = number and call('ZRANGE', PREFIX .. 'unhandled:' .. number, 0, 0)[1]
  local head = first and head_of(first)
  if head then oldest = max(oldest, now - ready_at_of(head)) end
end

local keyed = call('ZREVRANGE', PREFIX .. 'keyed', 0, 19, 'WITHSCORES')
local key_rows, has_buckets = {}, call('EXISTS', PREFIX .. 'keyBuckets') == 1
for i = 1, #keyed, 2 do
  local waiting = waiting_of_key(keyed[i])
  local first = call('ZRANGE', waiting, 0, 0)[1]
  local head = first and head_of(first)
  if head then oldest = max(oldest, now - ready_at_of(head)) end
  for _, value in ipairs({ keyed[i], keyed[i + 1], call('ZCARD', waiting), call('SCARD', PREFIX .. 'running:' .. keyed[i]),
    has_buckets and bucket_of_key(keyed[i]) or '' }) do
    key_rows[#key_rows + 1] = value
  end
end
local limit_keys_shown = { call('ZCARD', PREFIX .. 'keyed'), call('HGETALL', PREFIX .. 'keyLimits'), key_rows }

local workers, executing = {}, {}
local leases = call('ZRANGE', PREFIX .. 'leases', 0, 199, 'WITHSCORES')

local function executing_row(worker, fence)
  local element = call('HGET', PREFIX .. 'inflight:' .. worker, fence)
  local tracked = is_reference(element)
  local id = id_of(element)
  local shown = tracked and call('GETRANGE', record_key(id), 0, SHOWN_BYTES - 1) or sub(element, 1, SHOWN_BYTES)
  local extras = tracked and call('HMGET', extras_key(id), 'progress', 'cancelAt') or {}
  local order = call('HGET', PREFIX .. 'cancelling:' .. worker, fence)
  for _, value in ipairs({ worker, fence, shown, tracked and '1' or '0', extras[1] or '',
    extras[2] or (order and string.match(order, '^%d+')) or '' }) do
    executing[#executing + 1] = value
  end
end

for i = 1, #leases, 2 do
  local worker = leases[i]
  local key = PREFIX .. 'inflight:' .. worker
  local held = call('HLEN', key)
  local about = call('HMGET', PREFIX .. 'worker:' .. worker, 'beatAt', 'info', 'course', 'slots')
  for _, value in ipairs({ worker, leases[i + 1], held, about[1] or '0', about[2] or '', about[3] or '', about[4] or '' }) do
    workers[#workers + 1] = value
  end
  if held > 0 and #executing / 6 < rows then
    local fences = oldest_fences(worker)
    for n = 1, min(#fences, rows - #executing / 6) do executing_row(worker, format('%d', fences[n])) end
  end
end

-- Operations that a cancel of the whole queue has ended count as cancelled before they are cleared away.
local cancelled = call('ZCARD', PREFIX .. 'ended:c') + max(0, tonumber(call('HGET', TOTALS, 'clearing') or 0))

return {
  format('%d', now), ready, call('ZCARD', PREFIX .. 'scheduled'), call('ZCARD', PREFIX .. 'retrying'),
  call('ZCARD', PREFIX .. 'ended:f'), call('ZCARD', PREFIX .. 'ended:d'), cancelled,
  call('ZCARD', PREFIX .. 'ended:e'), format('%d', ready > 0 and oldest or -1),
  call('HGETALL', META), call('HGETALL', TOTALS), workers, executing,
  call('ZCARD', PREFIX .. 'unhandled'), unhandled, call('ZCARD', PREFIX .. 'blocked'),
  limit_keys_shown,
}
