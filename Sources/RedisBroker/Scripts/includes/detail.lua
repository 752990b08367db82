-- One operation for people: its record and what only some have.
local function detail(id)
  local record = call('GET', record_key(id))
  if not record or #record < HEAD then return {} end
  local state = state_of(record)
  local extras = call('HGETALL', extras_key(id))
  local fence = fence_of(record)
  local is_told = state == 'x' and fence <= tonumber(call('HGET', META, 'cancelledFence') or 0)
  if is_told or (state == 'c' and sub(record, 65, 65) ~= 'c') then
    local at, by, reason = string.match(call('HGET', META, 'cancelTrace') or '', '^(%d+) (%S*) ?(.*)$')
    for _, value in ipairs({ 'queueCancelAt', at or '0', 'queueCancelBy', by or '', 'queueCancelReason', reason or '' }) do
      extras[#extras + 1] = value
    end
  end
  local owner = sub(record, 65, 65) == 'x' and worker_of(record)
  return {
    record, state, owner and format('%d ', fence) .. owner or '', call('LRANGE', errors_key(id), 0, -1), extras,
  }
end
