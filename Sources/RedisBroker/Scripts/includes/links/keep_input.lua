-- Results of dependencies: what is short is kept in the hash `inputs:ID` of the operation that depends on them, since they may not be kept as long as
-- that one waits.
-- include: keys
local INPUT_BYTES = 4096
local INPUTS_BYTES = 65536
local function inputs_key(id) return PREFIX .. 'inputs:' .. id end

local function keep_input(id, dependency, result)
  if not result or #result > INPUT_BYTES then return end
  local bytes = tonumber(call('HGET', extras_key(id), 'inputBytes') or 0) + #result
  if bytes > INPUTS_BYTES then return end
  call('HSET', extras_key(id), 'inputBytes', format('%d', bytes))
  call('HSET', inputs_key(id), dependency, result)
end
