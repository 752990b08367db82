-- in the base
-- include: record

-- Another envelope in the place of the one that the caller has read. False = it is another one by now.
local function replace_envelope(id, head, old, new)
  local key = record_key(id)
  if call('GETRANGE', key, format('%d', HEAD), '-1') ~= old then return false end
  call('SET', key, head .. new)
  return true
end
