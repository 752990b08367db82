-- Reads schedules of a queue.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  due: schedules whose instant has come; page: schedules by id; one  ARGV[2] for a page the id before it,
--          '' = the first page; for one its id
-- ARGV[3]  how many, at most 100
-- Output   now, milliseconds until the next instant of any schedule ('' = none), 1 = more follow, then for each: id,
--          revision and what else stands before the definition, definition, runs, its next instant ('' = none)
-- Events   none
-- include: base
-- include: schedule_entry
local limit = tonumber(ARGV[3])
local ids, more = {}, false
if ARGV[1] == 'one' then
  ids = { ARGV[2] }
elseif ARGV[1] == 'due' then
  ids = call('ZRANGEBYSCORE', DUE, '-inf', NOW, 'LIMIT', 0, limit + 1)
else
  for _, field in ipairs(call('HKEYS', SCHEDULES)) do
    if not find(field, ':', 1, true) and field > ARGV[2] then ids[#ids + 1] = field end
  end
  table.sort(ids)
end
local reply, bytes, taken = { NOW, until_next(), '0' }, 0, 0
for i = 1, #ids do
  if taken >= limit or bytes >= REPLY_BYTES then
    more = true
    break
  end
  local head = schedule_head(ids[i])
  if head then
    taken, bytes = taken + 1, bytes + #head.definition
    for _, value in ipairs({ ids[i], concat({ head.revision, head.paused, head.at, head.by }, ' '), head.definition,
      call('HGET', SCHEDULES, 'runs:' .. ids[i]), call('ZSCORE', DUE, ids[i]) or '' }) do
      reply[#reply + 1] = value
    end
  end
end
if more then reply[3] = '1' end
return reply
