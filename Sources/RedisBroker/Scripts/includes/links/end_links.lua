-- What else ends with a linked operation.
-- include: unique

-- It has ended, or is removed: its unique key goes to the next one.
local function end_links(id)
  local key = call('HGET', extras_key(id), 'unique')
  if not key then return end
  call('ZREM', behind_key(key), id)
  free_key(key, id)
end
