-- in the base
-- What changes a record. Every change of a state goes through write_head, and is made by a file of the folder lifecycle.
-- include: create_record
-- include: changed_header

-- Writes a record from its state on, and its header before that if one is given. Returns the bytes that the record has then.
local function write_head(key, from_state, header)
  if header then return call('SETRANGE', key, '0', header .. from_state) end
  return call('SETRANGE', key, '64', from_state)
end

-- From now on something links it to others. A reference that stands in a lane stays as it is.
local function mark_linked(id) call('SETRANGE', record_key(id), '1', '3') end

local function forget_fence(id) call('SETRANGE', record_key(id), '83', '00000000000') end

-- A record that had none so far: an untracked operation that leaves the fast path. `element` is header + envelope.
-- nil = its id has a record: a client has enqueued under the id of another operation. That one's record stands, this one is dropped.
local function adopt(element, state)
  -- Never delayed, so it is ready since it was enqueued.
  local record = new_record(tracked_header(element), state, sub(element, 10, 18), envelope_of(element))
  if not create_record(record_key(id_of(element)), record) then
    add('removed', 1)
    return nil
  end
  return sub(record, 1, HEAD)
end
