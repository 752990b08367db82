-- Sweeps go on with ended dependencies whose end some dependents have not received.
-- include: go_on
-- include: record
local RESOLVED_BY_SWEEP = 100
local SWEPT_AT_ONCE = 50

local function clear_outbox()
  local first = call('ZRANGE', OUTBOX, '0', format('%d', SWEPT_AT_ONCE - 1), 'WITHSCORES')
  if #first == 0 then return end
  limit_resolving(RESOLVED_BY_SWEEP)
  local ids, list = {}, {}
  for i = 1, #first, 2 do
    local sequence, state = end_of_outbox_score(first[i + 1])
    ids[#ids + 1] = first[i]
    list[#list + 1], list[#list + 2], list[#list + 3] = first[i], sequence, state
  end
  call('ZREM', OUTBOX, unpack(ids))
  resolve(list)
  for i = 1, #ids do
    local is_gone = not is_remote(ids[i]) and call('EXISTS', record_key(ids[i])) == 0 and not call('ZSCORE', OUTBOX, ids[i])
    if is_gone then call('UNLINK', dependents_key(ids[i])) end
  end
end
