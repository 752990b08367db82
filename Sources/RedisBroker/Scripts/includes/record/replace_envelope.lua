-- in the base
-- include: record

-- Replaces the envelope that the caller has read. Returns false if the envelope has changed since.
local function replace_envelope(id, head, old, new)
  local key = record_key(id)
  if call('GETRANGE', key, format('%d', HEAD), '-1') ~= old then return false end
  call('SET', key, head .. new)
  return true
end
