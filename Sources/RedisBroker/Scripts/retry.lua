-- An operator's retry: dead, cancelled and expired operations become ready with fresh attempts; scheduled and retrying ones at once.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     ids, at most 500
-- Output   a character for each: 1 done, the letter of the state that forbids it, 0 unknown
-- Events   r for each
-- include: base
-- include: limits
-- include: events
-- include: doorbell
-- include: records
-- include: flush
local outcomes, readied, largest = {}, false, 0

-- Errors and log stay. What the last run left in the record (start, fence, end) goes, and so does a passed expiry. Another
-- revision invalidates references left behind; a new sequence takes it out of an earlier cancel of the whole queue.
local function make_ready(id, head, failed)
  local sequence = call('HINCRBY', META, 'sequence', 1)
  add('notEnqueued', 1)
  local header = sub(head, 1, 3) .. next_revision(sub(head, 4, 4)) .. failed .. '01' .. NOW36 .. ZERO9
    .. format('%011x', sequence) .. id
  call('SETRANGE', record_key(id), 0, header .. 'r' .. ZERO9 .. ZERO9)
  -- Never all that an operation with errors or a log has: `erase` looks for these where there are extras.
  call('HDEL', extras_key(id), 'cancelAt', 'cancelBy', 'cancelReason', 'cancelAcknowledgedAt', 'progress')
  -- Of a cancel that came while it ran untracked, and for which it ended too early.
  call('HDEL', PREFIX .. 'intents', id)
  call('RPUSH', PREFIX .. 'lane:' .. sub(head, 3, 3), header)
  event(id, 'r', true)
  readied, largest = true, max(largest, call('STRLEN', record_key(id)) - HEAD + #header)
end

local function retry(id)
  local head = head_of(id)
  if not head then return '0' end
  local state = state_of(head)
  if state == 'd' or state == 'c' or state == 'e' then
    if state == 'c' and sub(head, 65, 65) ~= 'c' then add('clearing', -1) end
    call('ZREM', PREFIX .. 'ended:' .. state, id)
    make_ready(id, head, '000')
    add('reopened', 1)
  elseif state == 's' or state == 't' then
    call('ZREM', PREFIX .. (state == 's' and 'scheduled' or 'retrying'), id)
    if sub(head, 19, 27) ~= ZERO9 then call('ZREM', PREFIX .. 'expiring', id) end
    make_ready(id, head, sub(head, 5, 7))
  else
    return state
  end
  return '1'
end

for i = 1, #ARGV do outcomes[i] = retry(ARGV[i]) end
note_large(largest)
if readied then ring() end
flush()
return concat(outcomes)
