-- include: events

-- Writes what the call gathered. The last thing that every writing script does.
local function flush()
  for i = 1, #at_end do at_end[i]() end
  for field, n in pairs(added) do
    if n ~= 0 then call('HINCRBY', TOTALS, field, format('%d', n)) end
  end
  flush_events()
end
