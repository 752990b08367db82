-- in the base
-- A record is one string: header 1–64, state 65, ended 66–74, started 75–83, fence 84–94, number of its worker 95–98,
-- enqueued 99–107, envelope 108…, from 1. While the operation waits for a time, "ready at" in the header is that time.
-- The head of a record is all before the envelope.
-- include: header
-- include: keys
local HEAD = 107
-- The end and the start, behind the state letter, of an operation that does not run.
local NOT_STARTED = ZERO9 .. ZERO9

local function new_record(header, state, enqueued36, envelope)
  return header .. state .. NEVER_RAN .. enqueued36 .. envelope
end

-- Returns the head of an operation's record; nil = no record.
local function head_of(id)
  local head = call('GETRANGE', record_key(id), '0', '106')
  if #head < HEAD then return nil end
  return head
end

-- Returns the header and the state letter of the record with this key, empty without a record. Reads less than a head.
local function read_header(key)
  local front = call('GETRANGE', key, '0', '64')
  return sub(front, 1, 64), sub(front, 65)
end

local function envelope_of_record(record) return sub(record, HEAD + 1) end

-- Compares a byte, because a substring would be a new string.
local function is_ready(record) return byte(record, 65) == 114 end
local function stored_state_of(head) return sub(head, 65, 65) end
local function started_at_of(head) return tonumber(sub(head, 75, 83), 36) end
local function ended_at_of(head) return tonumber(sub(head, 66, 74), 36) end
local function fence_of(head) return tonumber(sub(head, 84, 94), 16) end

-- An unhandled operation has the number of its set in the place of the start. set_number_of() returns that number as
-- text; shown_as_ready() returns the record as callers see it.
local function set_number_of(head) return format('%d', tonumber(sub(head, 75, 83), 36) or 0) end
local function shown_as_ready(record) return header_of(record) .. 'r' .. NOT_STARTED .. sub(record, 84) end

-- The worker of an executing operation with this head: its number, and its id (nil = unknown).
local function worker_number_of(head) return sub(head, 95, 98) end
local function worker_of(head) return call('HGET', PREFIX .. 'numbers', worker_number_of(head)) or nil end

-- The highest sequence that a cancel of the whole queue has ended.
local cancelled_sequence
local function cancelled_through()
  if not cancelled_sequence then cancelled_sequence = tonumber(call('HGET', META, 'cancelledSequence') or 0) end
  return cancelled_sequence
end
local function is_in_batch(head) return cancelled_through() > 0 and sequence_of(head) <= cancelled_sequence end

-- Returns the state that callers see. A waiting operation in a cancelled batch is 'c', although its record still has
-- the old state. An unhandled one ('u') is 'r'.
local function state_of(head)
  local state = stored_state_of(head)
  if find('rstub', state, 1, true) and is_in_batch(head) then return 'c' end
  return state == 'u' and 'r' or state
end

-- Returns the state that readers see: a waiting operation beyond its deadline counts as expired. The operation never
-- starts, and the next claim or sweep ends it.
local function shown_state_of(head)
  local state, deadline = state_of(head), deadline_of(head)
  return deadline and deadline <= now and find('rsb', state, 1, true) and 'e' or state
end
