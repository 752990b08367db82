-- include: standing_list

-- Rewrites the list, without standing cancels that have ended. Returns the revision, a new one for each change.
local function write_standing(list)
  local revision = call('HINCRBY', META, 'standingRevision', '1')
  call('DEL', STANDING)
  local last = 0
  for i = 1, #list do
    local it = list[i]
    call('HSET', STANDING, it.id, concat({ it.ends, it.at, it.by, it.query }, ' ') .. '\n' .. it.reason, 'cancelled:' .. it.id, it.cancelled)
    last = max(last, tonumber(it.ends))
  end
  if #list == 0 then
    call('HDEL', META, 'standing')
  else
    call('HSET', META, 'standing', format('%d %d', revision, last))
  end
  return revision
end
