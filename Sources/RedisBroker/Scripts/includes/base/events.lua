-- include: header

-- Each script call publishes at most one numbered message: "FROM TO kind=n,… KIND+ID KIND+ID …". The kind is the letter
-- of the operation's new state. The message names at most 50 transitions; its counts are always complete.
local event_count, event_kinds, event_text = 0, {}, {}
local event_durable = false
local change, subject

-- `durable`: the stream also stores the message of this call. Enqueues, starts and finishes are not durable: only the
-- records show them.
local function event(id, kind, durable)
  event_count = event_count + 1
  event_kinds[kind] = (event_kinds[kind] or 0) + 1
  if durable then event_durable = true end
  if event_count <= 50 then event_text[event_count] = kind .. id end
end

-- Records an event of an element or a header. Reads the id only for the first 50 events.
local function event_of(element, kind, durable)
  if event_count < 50 then return event(id_of(element), kind, durable) end
  event_count = event_count + 1
  event_kinds[kind] = (event_kinds[kind] or 0) + 1
  if durable then event_durable = true end
end

-- Counts n more events without naming their operations. `durable` is as for event().
local function events_unnamed(kind, n, durable)
  if n <= 0 then return end
  if durable then event_durable = true end
  event_count = event_count + n
  event_kinds[kind] = (event_kinds[kind] or 0) + n
end

-- Records an event for each of many elements. Only the first 50 events of a call are named.
local function events_of(elements, kind)
  local n = #elements
  local named = min(50 - event_count, n)
  for i = 1, named do event(id_of(elements[i]), kind, false) end
  events_unnamed(kind, n - max(0, named))
end

-- Adds a change by a client or an operator as the last part of the message, behind " | ". The message becomes durable.
-- A change without a transition gets a number of its own, with the kind o. `by` is one word, `detail` one line. `id` is
-- the changed operation. The message names it if it is the only one, because the transitions may belong to other
-- operations.
local function note_change(verb, by, count, detail, id)
  subject = count == 1 and id and 'o' .. id .. ' ' or ''
  change = ' | ' .. verb .. ' ' .. by .. ' ' .. format('%d', count) .. ' ' .. detail
  event_durable = true
end

local function flush_events()
  if event_count == 0 then
    if not change then return end
    event_count, event_kinds.o = 1, 1
  end
  local last = call('HINCRBY', META, 'eventSequence', format('%d', event_count))
  local counts = {}
  for kind, n in pairs(event_kinds) do counts[#counts + 1] = kind .. '=' .. n end
  local text = format('%d %d ', last - event_count + 1, last) .. concat(counts, ',') .. ' ' .. (subject or '') .. concat(event_text, ' ') .. (change or '')
  pcall('PUBLISH', CHANNELS .. 'events', text)
  if event_durable then
    call('XADD', PREFIX .. 'stream', 'MAXLEN', '~', 10000, '*', 'e', text)
  end
end
