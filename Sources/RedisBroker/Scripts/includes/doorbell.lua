-- The bell is a list that holds at most one token: whoever pops it owns the right to claim next.
local function ring()
  if call('LLEN', PREFIX .. 'bell') == 0 then call('RPUSH', PREFIX .. 'bell', '1') end
end

-- Something is due at `due`: rings if no watcher knows of an instant that early.
local function announce_due(due)
  local known = tonumber(call('HGET', META, 'next') or 0)
  if known == 0 or due < known then ring() end
end
