-- Finishes many operations at once: see finish.lua.
-- include: finish
-- include: keep_input
-- Only the state and the end of a finished record change, and the two are adjacent.
local FINISHED = 'f' .. NOW36

-- Finishes n untracked operations, which are only counted. ARGV[first…last] has the ids of the first, for the event.
local function finish_untracked(n, first, last)
  local named = min(n, last - first + 1)
  for i = first, first + named - 1 do event(ARGV[i], 'f', false) end
  events_unnamed('f', n - named)
  add('finished', n)
end

-- Finishes a tracked operation. `reference`: the element that the worker held; `result`: '' = none. Nothing happens
-- without a record: an update never makes one.
local function finish_tracked(id, reference, result)
  local key = record_key(id)
  if write_head(key, FINISHED) < HEAD then
    call('DEL', key)
    return
  end
  if result ~= '' then call('HSET', extras_key(id), 'result', result) end
  if is_linked(reference) then note_result(id, result) end
  note_end(id, reference, 'f')
  event(id, 'f', false)
end
