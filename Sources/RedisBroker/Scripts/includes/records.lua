-- A record is one string: header (1–64), state 65, started 66–74, fence 75–85, awaited 86, enqueued 87–95, due 96–104,
-- ended 105–113, reserved 114, envelope 115… (positions from 1, as string.sub counts them).
local HEAD = 114

local function record_key(id) return PREFIX .. 'op:' .. id end
local function extras_key(id) return PREFIX .. 'x:' .. id end

local function new_record(header, state, due36, envelope)
  return header .. state .. '00000000000000000000' .. '0' .. NOW36 .. due36 .. ZERO9 .. '0' .. envelope
end

-- The record's head, or nil.
local function head_of(id)
  local head = call('GETRANGE', record_key(id), 0, HEAD - 1)
  if #head < HEAD then return nil end
  return head
end

local function next_revision(revision)
  local value = (tonumber(revision, 36) + 1) % 36
  return sub(DIGITS, value + 1, value + 1)
end

-- The highest sequence that a cancel of the whole queue has ended.
local cancelled_sequence
local function is_buried(head)
  if not cancelled_sequence then cancelled_sequence = tonumber(call('HGET', META, 'cancelledSequence') or 0) end
  return cancelled_sequence > 0 and tonumber(sub(head, 28, 38), 16) <= cancelled_sequence
end

-- The state that counts: waiting operations of a cancelled queue are cancelled before anybody clears them away.
local function state_of(head)
  local state = sub(head, 65, 65)
  if (state == 'r' or state == 's' or state == 't' or state == 'b') and is_buried(head) then return 'c' end
  return state
end

-- A record that had none so far: an untracked operation that leaves the fast path. `element` is header + envelope.
local function adopt(element, state)
  local header = sub(element, 1, 1) .. '1' .. sub(element, 3, 64)
  local id = sub(element, 39, 64)
  local record = new_record(header, state, ZERO9, sub(element, 65))
  call('SET', record_key(id), record)
  return sub(record, 1, HEAD)
end
