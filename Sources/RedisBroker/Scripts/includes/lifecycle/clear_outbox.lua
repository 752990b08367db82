-- Sweeps go on with the dependencies of whose end not all dependents have heard.
-- include: go_on
-- include: record
local RESOLVED_BY_SWEEP = 100

local function clear_outbox()
  left_to_resolve = RESOLVED_BY_SWEEP
  while left_to_resolve > 0 do
    local first = call('ZRANGE', OUTBOX, 0, 0, 'WITHSCORES')
    if not first[1] then return end
    left_to_resolve = left_to_resolve - 1
    call('ZREM', OUTBOX, first[1])
    local sequence, state = end_of_outbox_score(first[2])
    local is_left = resolve({ first[1], sequence, state })
    if not is_left and call('EXISTS', record_key(first[1])) == 0 then call('UNLINK', dependents_key(first[1])) end
  end
end
