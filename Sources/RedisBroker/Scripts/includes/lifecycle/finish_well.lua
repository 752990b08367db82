-- Operations end well, many at once: see finish.lua.
-- include: finish
-- include: keep_input
-- The finished record's state and end, next to each other, are all that changes in it.
local FINISHED = 'f' .. NOW36

-- Untracked ones leave nothing but their number. The ids of the first stand in ARGV[first…last], for the event.
local function finish_untracked(n, first, last)
  local named = min(n, last - first + 1)
  for i = first, first + named - 1 do event(ARGV[i], 'f', false) end
  events_unnamed('f', n - named)
  add('finished', n)
end

-- `reference`: what the worker held; `result`: '' = none. Nothing happens if there is no record: an update never makes one.
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
