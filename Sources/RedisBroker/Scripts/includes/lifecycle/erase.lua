-- include: keys
-- include: needs
-- include: keep_input

-- What these need, and what needs them unless it has not heard of their end yet. UNLINK frees what is large outside of the script's time.
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

-- Removes every key of these operations. Keys that are not there cost as much as others, so errors and a log are looked for only
-- if one of these has extras, as whatever has errors, a log or links does.
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
