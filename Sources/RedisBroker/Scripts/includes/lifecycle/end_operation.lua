-- The end of an operation: its record, the set of its state, waiting clients, totals, event, retention.
-- include: write_record
-- include: events
-- include: waiters
-- include: retention
-- include: end_links
local TOTAL_OF = { f = 'finished', d = 'dead', c = 'cancelled', e = 'expired' }

-- The operations that this call has ended, by state; nil = none yet.
local ended

local function write_ended()
  -- go_on() may end more operations.
  later.go_on()
  local lists = ended
  ended = nil
  for state, list in pairs(lists) do
    local n = #list / 2
    call('ZADD', PREFIX .. 'ended:' .. state, unpack(list))
    add(TOTAL_OF[state], n)
    trim(state, 2 * n)
  end
end

-- Every end of an operation with a record comes through here. `header`: its header, or text that begins with it; `at`:
-- see `ended_at` in finish().
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

-- Takes back an end in this state in this call, because the operation ends again. Returns whether such an end was
-- noted.
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

-- Ends an operation. `failures`: its used attempts, three digits. `revision`: a new one if a reference stays behind.
-- `ended_at`, text: its end was counted and announced then; nil = it ends now.
local function finish(id, head, state, failures, revision, ended_at)
  write_head(record_key(id), state .. (ended_at and time36(tonumber(ended_at)) or NOW36), changed_header(head, revision, failures))
  note_end(id, head, state, ended_at)
  if ended_at then
    add(TOTAL_OF[state], -1)
  else
    event(id, state, true)
  end
end

-- Ends an operation that waits. The new revision makes the reference that stays in its lane stale.
local function finish_waiting(id, head, state, ended_at)
  finish(id, head, state, failures_of(head), next_revision(head), ended_at)
end
