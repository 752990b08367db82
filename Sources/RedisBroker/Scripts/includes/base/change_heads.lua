-- Changes of many operations. META is the hash "{namespace:queues}:changes:meta". Of each change it has the head under
-- the id: state (o open, e ended), fence, end of the lease, time of creation, and who asked for a stop (one word or
-- empty); and two texts under "id:definition" and "id:progress".
local ID_LENGTH, CHANGE_ID = 26, '^[0-7][0-9A-HJKMNP-TV-Z]+$'

-- Returns the ids of all changes, oldest first.
local function change_ids()
  local ids = {}
  for _, field in ipairs(call('HKEYS', META)) do
    if #field == ID_LENGTH and find(field, CHANGE_ID) then ids[#ids + 1] = field end
  end
  table.sort(ids)
  return ids
end

local function change_head(id)
  local text = call('HGET', META, id)
  if not text then return nil end
  local state, fence, lease, created, stopper = string.match(text, '^([oe]) (%d+) (%d+) (%d+) (%S*)$')
  -- Unreadable: no program takes it, and readers show it as such.
  if not state then return { state = '?', fence = 0, lease = 0, created = '0', stopper = '' } end
  return { state = state, fence = tonumber(fence), lease = tonumber(lease), created = created, stopper = stopper }
end

local function write_change_head(id, head)
  local numbers = { head.state, format('%d', head.fence), format('%d', head.lease), head.created, head.stopper }
  call('HSET', META, id, concat(numbers, ' '))
end

-- Returns a change as readers get it: id, fence, end of the lease, creation, who asked for a stop, and the two texts.
local function change_row(id, head)
  local texts = call('HMGET', META, id .. ':definition', id .. ':progress')
  return { id, head.fence, head.lease, head.created, head.stopper, texts[1] or '', texts[2] or '' }
end
