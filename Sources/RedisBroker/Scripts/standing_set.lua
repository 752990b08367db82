-- Sets a standing cancel, or replaces end, requester and reason of the one with the same query.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] for how many ms  ARGV[3] query (one line, at most 1 KiB)  ARGV[4] reason  ARGV[5] how
--          many a queue may have
-- Output   its id and when it ends; '' and '' if the queue has as many as it may
-- Events   the change, with the query and for how long
-- include: base
-- include: standing_change
-- include: flush
call('HDEL', META, '')
local list = standing_cancels()
local found
for i = 1, #list do
  if list[i].query == ARGV[3] then found = list[i] end
end
if not found then
  if #list >= tonumber(ARGV[5]) then return { '', '' } end
  found = { id = format('%d', tonumber(call('HGET', META, 'standingRevision') or 0) + 1), query = ARGV[3], cancelled = '0' }
  list[#list + 1] = found
end
found.ends, found.at, found.by, found.reason = format('%d', now + ARGV[2]), format('%d', now), ARGV[1], ARGV[4]
write_standing(list)
note_change('setStandingCancel', ARGV[1], 0, ARGV[3] .. ' for ' .. ARGV[2] / 1000 .. ' s' .. (ARGV[4] ~= '' and ', ' or '') .. ARGV[4])
flush()
return { found.id, found.ends }
