-- include: events

-- Runs the functions in `at_end`, then writes the totals and the events of the call. Every writing script calls this
-- last.
local function flush()
  local i = 1
  while at_end[i] do
    at_end[i]()
    i = i + 1
  end
  for field, n in pairs(added) do
    if n ~= 0 then call('HINCRBY', TOTALS, field, format('%d', n)) end
  end
  flush_events()
end
