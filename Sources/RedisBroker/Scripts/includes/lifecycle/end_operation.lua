-- An operation ends: its record, the set of its state, the clients that wait for it, totals, event, retention.
-- include: write_record
-- include: events
-- include: waiters
-- include: retention
-- include: end_links
local TOTAL_OF = { f = 'finished', d = 'dead', c = 'cancelled', e = 'expired' }

-- What the call has ended; nil = nothing yet.
local ended

local function write_ended()
  -- That may end more.
  go_on()
  local lists = ended
  ended = nil
  for state, list in pairs(lists) do
    local n = #list / 2
    call('ZADD', PREFIX .. 'ended:' .. state, unpack(list))
    add(TOTAL_OF[state], n)
    trim(state, 2 * n)
  end
end

-- What every end of an operation with a record comes through. `header`: its header or what begins with it; `at`: see finish.
local function note_end(id, header, state, at)
  if not ended then
    ended = {}
    at_end[#at_end + 1] = write_ended
  end
  local list = ended[state] or {}
  ended[state] = list
  list[#list + 1] = at or NOW
  list[#list + 1] = id
  notify_waiters(id, state)
  if is_linked(header) then end_links(id, header, state) end
end

-- It has ended in this call in this state, and does so again. Returns whether it has.
local function forget_end(id, state)
  local list = ended and ended[state] or {}
  for i = 2, #list, 2 do
    if list[i] == id then
      table.remove(list, i)
      table.remove(list, i - 1)
      return true
    end
  end
  return false
end

-- `failures` is its number of used attempts, three digits; `revision` changes where a reference stays behind. `ended_at`, text: its end was
-- counted and announced then; nil = it ends now.
local function finish(id, head, state, failures, revision, ended_at)
  write_head(record_key(id), state .. (ended_at and time36(tonumber(ended_at)) or NOW36), changed_header(head, revision, failures))
  note_end(id, head, state, ended_at)
  if ended_at then
    add(TOTAL_OF[state], -1)
  else
    event(id, state, true)
  end
end

-- It ends while it waits and a reference to it stays behind.
local function finish_waiting(id, head, state, ended_at)
  finish(id, head, state, failures_of(head), next_revision(head), ended_at)
end
