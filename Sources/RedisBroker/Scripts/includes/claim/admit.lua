-- Filters the elements that a claim has popped: drops operations that may no longer start.
-- include: finish
-- include: leave_waiting
-- include: promote
-- include: limit_keys
-- include: linked_header
-- include: extras

-- Ends an operation whose cancel arrived before it. `head` creates or returns the head of its record. Returns whether
-- such a cancel was stored.
local function obey_intent(id, head)
  local intent = call('HGET', PREFIX .. 'intents', id)
  if not intent then return false end
  call('HDEL', PREFIX .. 'intents', id)
  local at, by, reason = string.match(intent, '^(%d+) (%S*) ?(.*)$')
  local record = head()
  if not record then return true end
  finish(id, record, 'c')
  keep_cancel(id, at, by, reason)
  return true
end

-- Returns the record for the worker, or nil. A reference is valid only while its record is ready and has the same
-- header, except for the linked flag, which may have been set later. A new string costs time for each of its bytes, so
-- this function cuts nothing out of the record.
local function admit_tracked(element, record, intents)
  if not record or not is_ready(record) or (find(record, element, 1, true) ~= 1 and not is_linked_since(record, element)) then
    local is_missing = not record and has_limit_key(element) and limits_of_keys().leave_missing(id_of(element))
    if not is_missing then add('stale', -1) end
    return nil
  end
  if has_limit_key(record) then limits_of_keys().leave(id_of(element)) end
  local deadline = deadline_of(element)
  if deadline then
    leave_expiring(id_of(element), element)
    firsts.expiring = nil
    if deadline <= now then
      finish(id_of(element), record, 'e')
      return nil
    end
  end
  if intents and obey_intent(id_of(element), function() return record end) then return nil end
  return record
end

local function admit_untracked(element, intents)
  local deadline = deadline_of(element)
  local function head() return adopt(element, 'r') end
  if deadline and deadline <= now then
    local adopted = head()
    if adopted then finish(id_of(element), adopted, 'e') end
    return nil
  end
  if intents and obey_intent(id_of(element), head) then return nil end
  return element
end

-- Reads the referenced records in one command. Returns their keys and the records, in order.
local function records_of(elements)
  local keys = {}
  for i = 1, #elements do
    local element = elements[i]
    if is_reference(element) then keys[#keys + 1] = record_key(id_of(element)) end
  end
  return keys, #keys > 0 and call('MGET', unpack(keys))
end

-- Adds the elements that may start to `taken`. The element of a tracked operation is its record; `taken` then also gets
-- the reference and the record's key. Returns the bytes of all headers and envelopes that were read, also of dropped
-- elements.
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
      if element and is_linked(element) then reference = header_of(element) end
    else
      bytes = bytes + #element
      element = admit_untracked(element, intents)
    end
    if element then
      local n = #taken + 1
      taken[n], taken.references[n], taken.keys[n] = element, reference, key
      if reference then
        taken.tracked = taken.tracked + 1
        if has_limit_key(reference) then limit_keys.start(id_of(reference)) end
      end
    end
  end
  if limit_keys then limit_keys.settle() end
  return bytes
end
