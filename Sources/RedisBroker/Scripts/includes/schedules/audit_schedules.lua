-- Checks that each next instant has its schedule. A queue has at most 1,000 schedules.
-- include: audit
-- include: schedule_entry
local function check_schedules()
  local ids = call('ZRANGE', DUE, 0, 999)
  for i = 1, #ids do
    if call('HEXISTS', SCHEDULES, ids[i]) == 0 then
      finding('leftover', ids[i], 'a planned instant of a schedule that does not exist', 'delete it', { zrem, DUE, ids[i] })
    end
  end
end
