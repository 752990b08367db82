-- That an operation came back from a lost worker is in the field `recoveries` of its extras: a line of JSON for each of the last RECOVERIES_KEPT.
-- include: keys
-- include: record
local RECOVERIES_KEPT = 10
local CAUSES = { lease = 'its lease ran out', process = 'its process has ended' }

-- Of the name and the host that a worker says about itself: one line of at most 99 bytes, as many as a format takes.
local function text_of(value) return type(value) == 'string' and string.gsub(format('%.99s', value), '%c', ' ') or '' end

-- The same for all operations of a worker.
local function new_recovery(worker, cause)
  local is_read, info = _G.pcall(cjson.decode, call('HGET', PREFIX .. 'worker:' .. worker, 'info') or '{}')
  if not is_read or type(info) ~= 'table' then info = {} end
  local name, host = text_of(info.name), text_of(info.host)
  return { at = now, cause = cause, worker = worker, name = name, host = host }
end

local function recovery_sentence(recovery)
  return (recovery.name ~= '' and recovery.name .. ': ' or '') .. CAUSES[recovery.cause]
end

-- `head`: as the record was while the worker ran it.
local function keep_recovery(id, head, recovery)
  recovery.startedAt, recovery.attempt, recovery.delivery = started_at_of(head), tonumber(failures_of(head)) + 1, delivery_of(head)
  local lines = { cjson.encode(recovery) }
  for line in string.gmatch(call('HGET', extras_key(id), 'recoveries') or '', '[^\n]+') do lines[#lines + 1] = line end
  call('HSET', extras_key(id), 'recoveries', concat(lines, '\n', 1, min(#lines, RECOVERIES_KEPT)))
end
