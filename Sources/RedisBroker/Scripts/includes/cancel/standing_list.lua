-- include: standing

-- Returns the standing cancels that have not ended, by id. Each has id, ends, at, by, query, reason, and `cancelled`:
-- how many operations it has cancelled. The hash is small: a queue may have few standing cancels, and those that ended
-- lately are still in it.
local function standing_cancels()
  local all, list, cancelled = call('HGETALL', STANDING), {}, {}
  for i = 1, #all, 2 do
    local id = string.match(all[i], '^cancelled:(%d+)$')
    if id then
      cancelled[id] = all[i + 1]
    else
      local ends, at, by, query, reason = string.match(all[i + 1], STANDING_ENTRY)
      if ends and tonumber(ends) > now then
        list[#list + 1] = { id = all[i], ends = ends, at = at, by = by, query = query, reason = reason }
      end
    end
  end
  for i = 1, #list do list[i].cancelled = cancelled[list[i].id] or '0' end
  table.sort(list, function(a, b) return tonumber(a.id) < tonumber(b.id) end)
  return list
end
