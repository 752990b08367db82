-- Stores what running operations write about themselves, each under its fence.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2] number of this call, which grows (a repeat has the same), 0 = none; then for each report:
--          fence, id, kind (p progress | l log line | k checkpoint | a cancel acknowledged | s the body of a forced
--          cancel has stopped), content
-- Output   a character for each: 1 stored, 0 the fence is stale
-- Events   r or s for an operation that gets the unique key of a stopped body; clients that follow an operation get a p
--          for its progress
-- include: base
-- include: record
-- include: waiters
-- include: stopping
-- include: extras
-- include: flush
call('HDEL', META, '')
local inflight = PREFIX .. 'inflight:' .. ARGV[1]
local outcomes = {}
local about = PREFIX .. 'worker:' .. ARGV[1]
local number = tonumber(ARGV[2])
local is_repeat = number > 0 and number <= tonumber(call('HGET', about, 'reports') or 0)
if number > 0 and not is_repeat then
  call('HSET', about, 'reports', ARGV[2])
  call('PEXPIRE', about, 3600000)
end

-- Stores where the log lines of each attempt begin: "attempt:line attempt:line".
local marked = {}
local function mark_attempt(id, line)
  local head = head_of(id)
  if not head then return end
  local attempt = tonumber(failures_of(head)) + 1
  if marked[id] == attempt then return end
  marked[id] = attempt
  local marks = call('HGET', extras_key(id), 'logAttempts')
  if marks and tonumber(string.match(marks, '(%d+):%d+$')) == attempt then return end
  call('HSET', extras_key(id), 'logAttempts', (marks and marks .. ' ' or '') .. format('%d:%d', attempt, line))
end

-- The prefix of a stored line: a byte 1 and the time. Lines of older versions have no prefix.
local STAMP = char(1) .. NOW36
local function text_bytes(line)
  return find(line, char(1), 1, true) == 1 and #line - #STAMP or #line
end

-- Stores a log line. The log keeps its last lines; `logBase` counts the dropped ones, so line numbers of readers stay
-- valid.
local function keep_line(id, line)
  local key, extras = log_key(id), extras_key(id)
  local lines = call('RPUSH', key, STAMP .. line)
  mark_attempt(id, tonumber(call('HGET', extras, 'logBase') or 0) + lines - 1)
  local bytes = call('HINCRBY', extras, 'logBytes', #line)
  while lines > LOG_LINES or bytes > LOG_BYTES do
    local gone = call('LPOP', key)
    lines = lines - 1
    bytes = call('HINCRBY', extras, 'logBytes', format('%d', -text_bytes(gone)))
    call('HINCRBY', extras, 'logBase', 1)
  end
end

-- Stores a report about a run whose fence a forced cancel has taken: only the times of these two kinds.
local function store_of_forced(fence, id, kind)
  if kind ~= 'a' and kind ~= 's' then return '0' end
  if kind == 's' and call('HEXISTS', inflight, fence) == 0 then call('HDEL', PREFIX .. 'cancelling:' .. ARGV[1], fence) end
  if not is_forced(id, fence) then return '0' end
  if kind == 's' then
    free_stopped_key(id)
    note_stopped(id)
  else
    acknowledge_cancel(id)
  end
  return '1'
end

local function store(fence, id, kind, content)
  local element = call('HGET', inflight, fence)
  if not element or id_of(element) ~= id then return store_of_forced(fence, id, kind) end
  if call('EXISTS', record_key(id)) == 0 then return '1' end
  if kind == 'l' then
    if not is_repeat then keep_line(id, content) end
  elseif kind == 'p' then
    call('HSET', extras_key(id), 'progress', content)
    notify_waiters(id, 'p')
  elseif kind == 'k' then
    call('HSET', extras_key(id), 'checkpoint', content)
  elseif kind == 'a' then
    acknowledge_cancel(id)
  end
  return '1'
end

for i = 3, #ARGV, 4 do
  outcomes[#outcomes + 1] = store(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
flush()
return concat(outcomes)
