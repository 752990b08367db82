-- Removes a change of many operations. A program that performs it learns so with its next step.
-- KEYS[1]  {namespace:queues}:changes:meta
-- ARGV[1]  id
-- Output   1 removed, 0 unknown
-- Events   none
-- include: base
call('HDEL', META, '')
return call('HDEL', META, ARGV[1], ARGV[1] .. ':definition', ARGV[1] .. ':progress') > 0 and 1 or 0
