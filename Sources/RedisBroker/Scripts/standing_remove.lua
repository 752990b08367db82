-- Removes standing cancels.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2…] ids; none = all
-- Output   the ids that were removed
-- Events   the change, with the queries
-- include: base
-- include: standing_change
-- include: flush
call('HDEL', META, '')
local wanted, kept, removed, queries = {}, {}, {}, {}
for i = 2, #ARGV do wanted[ARGV[i]] = true end
for _, it in ipairs(standing_cancels()) do
  if #ARGV == 1 or wanted[it.id] then
    removed[#removed + 1], queries[#queries + 1] = it.id, it.query
  else
    kept[#kept + 1] = it
  end
end
if #removed > 0 then
  write_standing(kept)
  note_change('removeStandingCancel', ARGV[1], 0, concat(queries, '; '))
end
flush()
return removed
