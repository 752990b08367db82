-- Reads the builds that workers of a queue have reported, the oldest first.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV     none
-- Output   for each: build, server time at which a worker of it first registered
-- Events   none (reads only)
-- include: base
return call('ZRANGE', PREFIX .. 'builds', 0, -1, 'WITHSCORES')
