-- The links of an operation that ends. Operations that wait for it continue before the call ends, see go_on.lua.
-- include: outboxes
-- include: behind
-- include: later

-- Ended operations with dependents in this queue: id, sequence, letter of the end, id, …
local ended_dependencies
local will_go_on = false

local function note_go_on()
  if will_go_on then return end
  will_go_on = true
  at_end[#at_end + 1] = function() later.go_on() end
end

-- If an operation ends twice in a call, the last end counts.
local function note_ended_dependency(name, sequence, state)
  note_go_on()
  local list = ended_dependencies or {}
  ended_dependencies = list
  local place = list[name] or #list
  list[name], list[place + 1], list[place + 2], list[place + 3] = place, name, sequence, state
end

-- go_on() calls this first: what is noted from then on needs another call of it.
local function begin_going_on() will_go_on = false end

-- Returns the ended operations that were noted since the last call; nil = none.
local function take_ended_dependencies()
  local list = ended_dependencies
  ended_dependencies = nil
  return list
end

-- Handles the links of an operation that has ended, or is removed (m).
local function end_links(id, header, state)
  if state == 'm' then call('UNLINK', needs_key(id)) end
  local about = call('HMGET', extras_key(id), 'unique', 'dependents', 'turn', 'freshFor', 'dependentQueues', 'runGroup')
  if about[6] then later.end_run(id, about[6], true) end
  if not about[1] and not about[2] and not about[5] then return end
  note_go_on()
  if about[1] then
    if about[3] then call('ZREM', behind_key(about[1]), id) end
    note_freed(about[1], id, about[4])
  end
  if about[2] then note_ended_dependency(id, sequence_of(header), state) end
  if about[5] then send_end(id, sequence_of(header), state, about[5]) end
end
