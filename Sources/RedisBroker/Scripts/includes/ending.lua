-- What every end of an operation has in common: the record, the set of its state, waiters, totals, retention.
local TOTAL_OF = { f = 'finished', d = 'dead', c = 'cancelled', e = 'expired' }
local ended = {}

-- include: waiters

local function note_end(id, state, at)
  local list = ended[state] or {}
  ended[state] = list
  list[#list + 1] = at or NOW
  list[#list + 1] = id
  notify_waiters(id, state)
end

-- Ends the record. `failed` is its number of used attempts, three digits; `revision` changes where a reference stays behind.
-- `ended_at`, text: its end was counted and announced then; nil = it ends now.
local function end_record(id, head, state, failed, revision, ended_at)
  call('SETRANGE', record_key(id), '3', (revision or sub(head, 4, 4)) .. failed .. sub(head, 8, 64) .. state
    .. (ended_at and time36(tonumber(ended_at)) or NOW36))
  note_end(id, state, ended_at)
  if ended_at then
    add(TOTAL_OF[state], -1)
  else
    event(id, state, state ~= 'f')
  end
end

-- Removes every key of these operations. Keys that are not there cost as much as others, so errors and a log are looked for only
-- if one of these has extras, as whatever has errors or a log does.
local function erase(ids)
  local function delete(key_of)
    local keys, deleted = {}, 0
    for i = 1, #ids do keys[i] = key_of(ids[i]) end
    for first = 1, #keys, 1000 do deleted = deleted + call('DEL', unpack(keys, first, min(first + 999, #keys))) end
    return deleted
  end
  delete(record_key)
  if delete(extras_key) == 0 then return end
  delete(errors_key)
  delete(log_key)
end

-- include: retention

local function flush_ended()
  for state, list in pairs(ended) do
    local n = #list / 2
    call('ZADD', PREFIX .. 'ended:' .. state, unpack(list))
    add(TOTAL_OF[state], n)
    trim(state, 2 * n)
  end
end
