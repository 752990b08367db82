-- Puts operations into the queue. Atomic; a repeat with the same call number gets the answer of the first call.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  producer: random id of the client, '' = not repeatable
-- ARGV[2]  number of this call, which grows with each call of the producer
-- ARGV[3]  lowest call number of the producer that is still unanswered: answers below it are deleted
-- ARGV[4…] header batches, at most 500 operations in all: the front of their headers, 27 characters with delay and
--          expiry as durations in ms (base 36); how many operations; and of each its id and its envelope
-- Output   one character per operation: 1 created, 0 an operation with this id exists; or an error, if anything is not
--          valid
-- Events   r or s for each created operation
-- include: start
-- include: enqueue_single
-- include: rest
-- include: groups
-- include: calls
-- include: size
-- include: enter_new
-- include: flush
local before = reply_of_before(ARGV[1], ARGV[2], ARGV[3])
if before then return before end
local groups, n, largest = read_groups(4, '[01]')
if not groups then return redis.error_reply(n) end

note_large(largest)
local answer = enter_new(groups, n)
keep_answer(ARGV[2], ARGV[3], answer)
flush()
return answer
