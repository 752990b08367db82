-- Adds the event of a change that other calls make.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  verb  ARGV[2] by (one word)  ARGV[3] how many operations  ARGV[4] one line about the change
-- ARGV[5]  the id of its only operation, '' = none
-- Output   1
-- Events   the change
-- include: base
-- include: flush
-- A removing command comes first: a change is an event also when Redis is full.
call('HDEL', META, '')
note_change(ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5] ~= '' and ARGV[5] or nil)
flush()
return 1
