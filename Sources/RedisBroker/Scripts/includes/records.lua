-- A record is one string: header (1–64), state 65, ended 66–74, started 75–83, fence 84–94, number of its worker 95–98,
-- enqueued 99–107, envelope 108… (positions from 1, as string.sub counts them). While it waits for its time, the header's
-- readyAt is that time.
local HEAD = 107

-- Whether an element is a reference to a record; else it is the operation itself.
local function is_reference(element) return byte(element, 2) ~= 48 end

-- An id alone: three bytes a key are eight in the server's memory, and no other key begins like an id.
local function record_key(id) return PREFIX .. id end
local function extras_key(id) return PREFIX .. 'x:' .. id end
local function errors_key(id) return PREFIX .. 'errors:' .. id end
local function log_key(id) return PREFIX .. 'log:' .. id end

-- Remembers the bytes of the largest element that came or came back since the queue was last empty, if that is more than usual: claim_step
-- needs it.
local function note_large(bytes)
  if bytes <= USUAL_BYTES or bytes <= tonumber(call('HGET', META, 'largest') or 0) then return end
  call('HSET', META, 'largest', format('%d', bytes))
end

local function new_record(header, state, enqueued36, envelope)
  return header .. state .. NEVER_RAN .. enqueued36 .. envelope
end

local function fence_of(head) return tonumber(sub(head, 84, 94), 16) end

-- Who runs it, or nil; `head` is that of an executing operation.
local function worker_of(head) return call('HGET', PREFIX .. 'numbers', sub(head, 95, 98)) or nil end

-- The record's head, or nil.
local function head_of(id)
  local head = call('GETRANGE', record_key(id), '0', '106')
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

-- The state that counts: waiting operations of a cancelled queue are cancelled before anybody clears them away, and unhandled ones (u) are
-- ready.
local function state_of(head)
  local state = sub(head, 65, 65)
  if state == 'u' then state = 'r' end
  if (state == 'r' or state == 's' or state == 't' or state == 'b') and is_buried(head) then return 'c' end
  return state
end

-- When, by whom and why the cancel of the whole queue came that ended what has this head: the first one that covers its sequence. Their
-- batches stand in the order of their cancels until they are cleared away.
local function queue_cancel(head)
  local batches, sequence = PREFIX .. 'graves', tonumber(sub(head, 28, 38), 16)
  local low, high = 0, call('LLEN', batches) - 1
  while low < high do
    local middle = floor((low + high) / 2)
    local covers = tonumber(string.match(call('LINDEX', batches, middle), '^%d+ (%d+)')) >= sequence
    if covers then high = middle else low = middle + 1 end
  end
  local batch = call('LINDEX', batches, low)
  local trace = batch and string.match(batch, '^%d+ %d+ (.*)$') or call('HGET', META, 'cancelTrace') or ''
  return string.match(trace, '^(%d+) (%S*) ?(.*)$')
end

-- A record that had none so far: an untracked operation that leaves the fast path. `element` is header + envelope.
-- nil = its id has a record: somebody enqueued under the id of another operation. That one's record stands, this one is dropped.
local function adopt(element, state)
  local header = sub(element, 1, 1) .. '1' .. sub(element, 3, 64)
  local id = sub(element, 39, 64)
  -- Never delayed, so it is ready since it was enqueued.
  local record = new_record(header, state, sub(element, 10, 18), sub(element, 65))
  if not call('SET', record_key(id), record, 'NX') then
    add('removed', 1)
    return nil
  end
  return sub(record, 1, HEAD)
end
