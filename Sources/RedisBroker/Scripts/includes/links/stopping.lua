-- A forced cancel ends an operation while its body may still run. The unique key is not free before the body has
-- stopped, or its worker is gone.
-- include: pass_keys

local function keep_key(id, worker)
  local key = call('HGET', extras_key(id), 'unique')
  if key and call('HGET', UNIQUE, key) == id then call('HSET', UNIQUE, key, id .. ' !' .. worker) end
end

local function free_stopped_key(id)
  local key = call('HGET', extras_key(id), 'unique')
  if not key or find(call('HGET', UNIQUE, key) or '', id .. ' !', 1, true) ~= 1 then return end
  call('HSET', UNIQUE, key, id)
  if not freed then at_end[#at_end + 1] = pass_keys end
  note_freed(key, id)
end

-- Frees the keys of all bodies that a worker may still run, when the worker is gone.
local function free_stopped_keys(worker)
  local requests = call('HVALS', PREFIX .. 'cancelling:' .. worker)
  table.sort(requests)
  for i = 1, #requests do
    local id = string.match(requests[i], '^!(%w+)')
    if id then free_stopped_key(id) end
  end
end
