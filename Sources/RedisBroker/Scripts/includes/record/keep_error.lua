-- include: keys
-- include: limits

-- Errors stay with the operation until it is erased. `erase` looks for errors only if the operation has extras, so the
-- extras get a field.
local function keep_error(id, error)
  local key = errors_key(id)
  call('RPUSH', key, error)
  call('LTRIM', key, -ERRORS_KEPT, -1)
  call('HSETNX', extras_key(id), 'hasErrors', '1')
end
