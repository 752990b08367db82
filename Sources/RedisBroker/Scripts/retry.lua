-- Retries operations for an operator: dead, cancelled and expired ones become ready with fresh attempts, or blocked if
-- they wait for dependencies; scheduled and retrying ones become ready at once. One with a delay becomes scheduled.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2…] ids, at most 500; behind an id and a space, the delay from now in ms
-- Output   a character for each: 1 done, the letter of the state that forbids it (always for a group, and for a
--          callback whose group has ended otherwise), 0 unknown, k another operation has its unique key; then, each
--          behind a space, the ids of these holders
-- Events   r, s or b for each, with the change
-- include: base
-- include: size
-- include: leave_waiting
-- include: enter_queue
-- include: claim_key
-- include: outboxes
-- include: remote
-- include: members
-- include: finish
-- include: extras
-- include: flush
-- A removing command comes first: an operator's retry must work when Redis is full.
call('HDEL', META, '')
local outcomes, largest, changed, last_changed = {}, 0, 0, nil

-- A dependency in another queue may have ended without a message that got here, so it is asked for. If the dependencies
-- are many, only the first are.
local names_left = 200
local function ask_for_needs(id)
  if names_left <= 0 then return end
  local needs = call('HSCAN', needs_key(id), '0', 'COUNT', format('%d', names_left))[2]
  for i = 1, min(#needs, 2 * names_left), 2 do
    local policy, before = read_need(needs[i + 1])
    if is_remote(needs[i]) and not is_met(before, policy) then ask_soon(needs[i]) end
  end
  names_left = names_left - #needs / 2
end

-- Makes an operation ready, or scheduled with a delay. Errors and log stay. The times of the last run and the deadline
-- are cleared; the fence stays until the next start. A new revision makes references stale that were left behind. A new
-- sequence takes the operation out of an earlier cancel of the whole queue.
local function make_ready(id, head, failures, delay)
  local sequence = call('HINCRBY', META, 'sequence', 1)
  add('notEnqueued', 1)
  local ready_at = delay and time36(now + delay) or NOW36
  local header = changed_header(head, next_revision(head), failures, 1, ready_at, ZERO9)
  -- An operation with errors or a log keeps some extras: `erase` looks for errors and a log only if it has extras.
  forget_runs(id)
  -- An intent may be left from a cancel that came while the operation ran untracked, too late for that run.
  call('HDEL', PREFIX .. 'intents', id)
  header = with_sequence(header, sequence)
  if tonumber(call('HGET', extras_key(id), 'unmet') or 0) > 0 then
    enter_needing(id, header)
    ask_for_needs(id)
  elseif delay then
    enter_later(id, header, now + delay)
  else
    enter_tail(id, header)
  end
  largest, changed, last_changed = max(largest, bytes_of_record(id)), changed + 1, id
end

local holders = ''
local function take_key_again(id)
  local is_free, holder = reclaim_key(id)
  if not is_free then holders = holders .. ' ' .. holder end
  return is_free
end

-- Whether an operation is a callback that would wait for ever.
local function is_hopeless_callback(id)
  local _, is_hopeless = callback_of(id)
  return is_hopeless
end

-- Whether an operation has expired, and no claim or sweep has ended it yet.
local function is_overdue(head)
  local deadline = deadline_of(head)
  return deadline and deadline <= now
end

local function retry(word)
  local id, delay = string.match(word, '^(%S+) ?(%d*)$')
  delay = tonumber(delay)
  local head = head_of(id)
  if not head then return '0' end
  local state = state_of(head)
  if is_linked(head) and call('HEXISTS', extras_key(id), 'group') == 1 then return state end
  if state == 'd' or state == 'c' or state == 'e' then
    if is_linked(head) and is_hopeless_callback(id) then return state end
    if is_linked(head) and not take_key_again(id) then return 'k' end
    leave_ended(id, head, state)
    -- Dependents must not hear of the end that the retry undoes.
    if is_linked(head) then take_back_end(id) end
    make_ready(id, head, '000', delay)
    if is_linked(head) then group_members().wait_for_retry(id) end
    add('reopened', 1)
  elseif state == 's' or state == 't' or (state == 'r' and is_overdue(head)) then
    leave_waiting(id, head)
    make_ready(id, head, nil, delay)
  else
    return state
  end
  return '1'
end

for i = 2, #ARGV do outcomes[i - 1] = retry(ARGV[i]) end
note_large(largest)
if changed > 0 then note_change('retry', ARGV[1], changed, '', last_changed) end
flush()
return concat(outcomes) .. holders
