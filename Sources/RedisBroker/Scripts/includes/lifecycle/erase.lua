-- include: keys
-- include: needs
-- include: keep_input

-- Deletes the dependencies of these operations, and their dependents unless some have not received the end yet. UNLINK
-- frees large keys outside the script's time.
local function erase_links(ids)
  local has_outbox = call('EXISTS', OUTBOX) == 1
  for first = 1, #ids, 500 do
    local keys = {}
    for i = first, min(first + 499, #ids) do
      keys[#keys + 1] = needs_key(ids[i])
      keys[#keys + 1] = inputs_key(ids[i])
      if not has_outbox or not call('ZSCORE', OUTBOX, ids[i]) then keys[#keys + 1] = dependents_key(ids[i]) end
    end
    call('UNLINK', unpack(keys))
  end
end

-- Removes every key of these operations. Missing keys cost as much as others, so errors, logs and links are deleted
-- only if one of the operations has extras. An operation with errors, a log or links always has extras.
local function erase(ids)
  local function delete(key_of)
    local keys, deleted = {}, 0
    for i = 1, #ids do keys[i] = key_of(ids[i]) end
    for first = 1, #keys, 1000 do deleted = deleted + call('DEL', unpack(keys, first, min(first + 999, #keys))) end
    return deleted
  end
  delete(record_key)
  if delete(extras_key) == 0 then return end
  delete(errors_key)
  delete(log_key)
  erase_links(ids)
end
