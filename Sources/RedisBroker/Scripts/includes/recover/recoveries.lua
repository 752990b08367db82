-- The field `recoveries` in the extras of an operation has a line for each of its last RECOVERIES_KEPT recoveries, the
-- newest first: "when, start of the lost run, attempt, delivery, cause, worker", and behind tabs the name and the host
-- of the worker.
-- include: keys
-- include: record
local RECOVERIES_KEPT = 10
local CAUSES = { lease = 'the lease of the worker ran out', process = 'the process of the worker ended' }

-- Returns a text of a worker's description of itself, for people: at most 99 bytes, as many as a format takes. A text
-- with an escape is left out.
local function said_by(info, field) return format('%.99s', string.match(info, '"' .. field .. '":"([^"\\]*)"') or '') end

-- The values that all operations of a worker share.
local function new_recovery(worker, cause)
  local info = call('HGET', PREFIX .. 'worker:' .. worker, 'info') or ''
  return { cause = cause, worker = worker, name = said_by(info, 'name'), host = said_by(info, 'host') }
end

local function recovery_sentence(recovery)
  return (recovery.name ~= '' and recovery.name .. ': ' or '') .. CAUSES[recovery.cause]
end

-- `head`: the record's head while the worker ran it.
local function keep_recovery(id, head, recovery)
  local lines = { format('%d %d %d %d %s %s\t%s\t%s', now, started_at_of(head), failures_of(head) + 1, delivery_of(head),
    recovery.cause, recovery.worker, recovery.name, recovery.host) }
  for line in string.gmatch(call('HGET', extras_key(id), 'recoveries') or '', '[^\n]+') do lines[#lines + 1] = line end
  call('HSET', extras_key(id), 'recoveries', concat(lines, '\n', 1, min(#lines, RECOVERIES_KEPT)))
end
