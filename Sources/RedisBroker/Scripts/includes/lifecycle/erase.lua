-- include: keys

-- Removes every key of these operations. Keys that are not there cost as much as others, so errors and a log are looked for only
-- if one of these has extras, as whatever has errors or a log does.
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
end
