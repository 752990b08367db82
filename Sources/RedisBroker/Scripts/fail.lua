-- Ends attempts that did not end well: retry, dead, or cancelled. A requested cancel beats both others.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker; then for each operation: fence, id, kind (t retry | d dead | c cancelled), pause in ms, error JSON ('' = none)
-- Output   a character for each: the state it went to (t | d | c), = it went there before, 0 stale
-- Events   the same states
-- include: base
-- include: limits
-- include: events
-- include: doorbell
-- include: records
-- include: ending
-- include: held
-- include: flush
local worker = ARGV[1]
local outcomes, earliest = {}, nil

-- A repeat finds the record as the first call left it: with its fence as the last one, and no longer running.
local function repeated(fence, id)
  local head = head_of(id)
  if not head or fence_of(head) ~= tonumber(fence) then return '0' end
  local state = sub(head, 65, 65)
  return (state == 't' or state == 'd' or state == 'c') and '=' or '0'
end

local function retry_later(id, head, failed, pause)
  local due = now + pause
  call('SETRANGE', record_key(id), 4, failed .. '01' .. time36(due) .. ZERO9 .. sub(head, 28, 64) .. 't')
  call('ZADD', PREFIX .. 'retrying', due, id)
  if not earliest or due < earliest then earliest = due end
  add('retried', 1)
  event(id, 't', true)
end

local function settle(fence, id, kind, pause, json)
  local element, order = release(worker, fence, id)
  if not element then return repeated(fence, id) end
  local head = head_for(element, 'x')
  if not head then return '0' end
  if not is_reference(element) then
    call('SETRANGE', record_key(id), 64, 'x' .. ZERO9 .. NOW36 .. format('%011x', tonumber(fence)))
    head = head_of(id)
  end
  if json ~= '' then keep_error(id, format('%d ', now) .. json) end
  local failed = format('%03d', min(999, tonumber(sub(head, 5, 7)) + 1))
  if is_cancelled(fence, order) then kind = 'c' end
  if kind == 't' then
    retry_later(id, head, failed, pause)
  elseif kind == 'c' then
    cancel_released(element, head, order, failed)
  else
    end_record(id, head, 'd', failed)
  end
  return kind
end

for i = 2, #ARGV, 5 do
  outcomes[#outcomes + 1] = settle(ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]) or 0, ARGV[i + 4])
end
if earliest then announce_due(earliest) end
flush_ended()
flush()
return concat(outcomes)
