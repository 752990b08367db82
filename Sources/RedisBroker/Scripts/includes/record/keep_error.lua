-- include: keys
-- include: limits

-- The errors stay with the operation until it is erased, which looks for them where there are extras.
local function keep_error(id, error)
  local key = errors_key(id)
  call('RPUSH', key, error)
  call('LTRIM', key, -ERRORS_KEPT, -1)
  call('HSETNX', extras_key(id), 'hasErrors', '1')
end
