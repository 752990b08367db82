-- Drops what may not start any more from the elements that a claim has popped.
local READY = byte('r')

-- A cancel that came before the operation: ends it. `head` makes or returns its record's head.
local function obey_intent(id, head, failed)
  local intent = call('HGET', PREFIX .. 'intents', id)
  if not intent then return false end
  call('HDEL', PREFIX .. 'intents', id)
  local at, by, reason = string.match(intent, '^(%d+) (%S*) ?(.*)$')
  local record = head()
  if not record then return true end
  end_record(id, record, 'c', failed)
  call('HSET', extras_key(id), 'cancelAt', at, 'cancelBy', by, 'cancelReason', reason)
  return true
end

-- A reference counts only while its record is ready and has the same header: whoever changes one changes the other.
-- Returns the record to hand out, or nil. Every new string costs time for each of its bytes, so nothing is cut out of it here.
local function admit_tracked(element, record, intents)
  if not record or byte(record, 65) ~= READY or find(record, element, 1, true) ~= 1 then
    add('ghosts', -1)
    return nil
  end
  if sub(element, 19, 27) ~= ZERO9 then
    local id = sub(element, 39, 64)
    call('ZREM', PREFIX .. 'expiring', id)
    firsts.expiring = nil
    if tonumber(sub(element, 19, 27), 36) <= now then
      end_record(id, record, 'e', sub(record, 5, 7))
      return nil
    end
  end
  if intents and obey_intent(sub(element, 39, 64), function() return record end, sub(record, 5, 7)) then return nil end
  return record
end

local function admit_untracked(element, intents)
  if sub(element, 19, 27) ~= ZERO9 and tonumber(sub(element, 19, 27), 36) <= now then
    local head = adopt(element, 'r')
    if head then end_record(sub(element, 39, 64), head, 'e', sub(element, 5, 7)) end
    return nil
  end
  local function head() return adopt(element, 'r') end
  if intents and obey_intent(sub(element, 39, 64), head, sub(element, 5, 7)) then return nil end
  return element
end

-- The keys of the records that are referred to, in order, and the records, in one read.
local function records_of(elements)
  local keys = {}
  for i = 1, #elements do
    local element = elements[i]
    if is_reference(element) then keys[#keys + 1] = record_key(sub(element, 39, 64)) end
  end
  return keys, #keys > 0 and call('MGET', unpack(keys))
end

-- Adds those that may start to `taken`: the element to hand out, and for a tracked one, whose element is its record, the
-- reference and the record's key. Returns the bytes of headers and envelopes of all: what is dropped was read, too.
local function admit(elements, taken, intents)
  local keys, records = records_of(elements)
  local read, bytes = 0, 0
  for i = 1, #elements do
    local element, reference, key = elements[i], nil, nil
    if is_reference(element) then
      read = read + 1
      reference, key = element, keys[read]
      bytes = bytes + (records[read] and #records[read] - HEAD or 0) + #reference
      element = admit_tracked(element, records[read], intents)
    else
      bytes = bytes + #element
      element = admit_untracked(element, intents)
    end
    if element then
      local n = #taken + 1
      taken[n], taken.references[n], taken.keys[n] = element, reference, key
      if reference then taken.tracked = taken.tracked + 1 end
    end
  end
  return bytes
end
