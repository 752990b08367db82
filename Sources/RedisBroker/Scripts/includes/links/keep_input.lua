-- Results of dependencies. A short result is copied to the hash `inputs:ID` of the dependent, since the dependency may
-- be erased while the dependent waits.
-- include: remote
local INPUT_BYTES = 4096
local INPUTS_BYTES = 65536
local function inputs_key(id) return PREFIX .. 'inputs:' .. id end

-- Results that this call has read or written, by dependency; '' = none, or a long one.
local results = {}
local function note_result(id, result) results[id] = #result <= INPUT_BYTES and result or '' end
local function result_of(id)
  if results[id] then return results[id] end
  local key = is_remote(id) and remote_key(id) or extras_key(id)
  local size = call('HSTRLEN', key, 'result')
  note_result(id, size > 0 and size <= INPUT_BYTES and call('HGET', key, 'result') or '')
  return results[id]
end

local function keep_input(id, dependency)
  local result = result_of(dependency)
  if result == '' then return end
  local bytes = tonumber(call('HGET', extras_key(id), 'inputBytes') or 0) + #result
  if bytes > INPUTS_BYTES then return end
  call('HSET', extras_key(id), 'inputBytes', format('%d', bytes))
  call('HSET', inputs_key(id), dependency, result)
end
