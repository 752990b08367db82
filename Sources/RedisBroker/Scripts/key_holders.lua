-- Reads which operations have unique keys.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1…] unique keys, at most 500
-- Output   for each key the id of its holder, '' = the key is free
-- Events   none
-- include: base
-- include: behind

-- Whether the holder keeps the key from an operation that starts again. A fresh result does not.
local function keeps(id, rest)
  local worker = string.match(rest, '^!(.*)$')
  if worker then return call('ZSCORE', PREFIX .. 'leases', worker) end
  local head = rest == '' and head_of(id)
  return head and find('rstbx', shown_state_of(head), 1, true)
end

local holders = {}
for i, key in ipairs(ARGV) do
  local id, rest = read_holder(key)
  holders[i] = id and keeps(id, rest) and id or ''
end
return holders
