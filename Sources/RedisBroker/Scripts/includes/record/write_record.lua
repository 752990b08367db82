-- in the base
-- Writes to records. Every change of a state goes through write_head(), and only files of the folder lifecycle make
-- one.
-- include: create_record
-- include: changed_header

-- Writes a record from its state on, and the header as well if one is given. Returns the size of the record in bytes.
local function write_head(key, from_state, header)
  if header then return call('SETRANGE', key, '0', header .. from_state) end
  return call('SETRANGE', key, '64', from_state)
end

-- Marks a record as linked. A reference in a lane stays as it is.
local function mark_linked(id) call('SETRANGE', record_key(id), '1', '3') end

local function forget_fence(id) call('SETRANGE', record_key(id), '83', '00000000000') end

-- Creates the record of an untracked operation, and returns its head. `element` is header + envelope. nil = another
-- operation has a record with this id, because a client used the id twice. That record stays, and this operation is
-- dropped.
local function adopt(element, state)
  -- An untracked operation is never delayed, so it has been ready since it was enqueued.
  local record = new_record(tracked_header(element), state, sub(element, 10, 18), envelope_of(element))
  if not create_record(record_key(id_of(element)), record) then
    add('removed', 1)
    return nil
  end
  return sub(record, 1, HEAD)
end
