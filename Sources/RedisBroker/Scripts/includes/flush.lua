-- Writes what the script gathered. The last thing every writing script does.
local function flush()
  for field, n in pairs(added) do
    if n ~= 0 then call('HINCRBY', TOTALS, field, format('%d', n)) end
  end
  flush_events()
end
