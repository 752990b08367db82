-- include: events

-- Writes what the call gathered. The last thing that every writing script does.
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
