-- Hands out ready operations in order of effective priority, after it has promoted due ones.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2] its epoch  ARGV[3] capacity, 1 to 500  ARGV[4] the highest fence that the worker ever got,
--          then, each behind a space, names of unhandled operations that it handles
-- ARGV[5]  1 = only if the worker holds nothing
-- Output   status (ok | limited: a limit lets no more start now | paused | noLease | staleEpoch | busy), first fence
--          − 1, milliseconds until the next due operation (−1 = none), 1 if more is ready + 2 if more with these names
--          are unhandled + 4 times the revision of the standing cancels (0 = none is alive), then the taken operations,
--          of which the n-th has the fence "first − 1 + n": of an untracked operation its element (header + envelope),
--          of a tracked one its record as it was before (header, 43 more bytes, envelope)
-- Events   x for each, e and c for operations that may no longer start, r for promoted ones
-- include: start
-- include: limits
-- include: claim_single
-- include: rest
-- include: take
-- include: flush
-- A removing command first: claims must work when Redis is full.
call('HDEL', META, '')
local for_idle = ARGV[5] == '1'
if for_idle and call('EXISTS', PREFIX .. 'inflight:' .. ARGV[1]) == 1 then return { 'busy', 0, -1, 0 } end
local reply = take(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], for_idle)
flush()
return reply
