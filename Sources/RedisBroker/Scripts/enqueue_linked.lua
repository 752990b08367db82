-- Puts operations into the queue, some of which are linked: they have a unique key, a limit key, or dependencies.
-- Otherwise like enqueue.lua.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  producer  ARGV[2] number of this call  ARGV[3] lowest call number that is still unanswered: see enqueue.lua
-- ARGV[4…] header batches as there. The front of linked operations has the flags 3, or 7 with a limit key; their links
--          stand before each: lines "NAME VALUE"
-- Output   one character per operation: 1 created, 0 an operation with this id exists, n a dependency is unknown, u
--          another operation has its unique key, m too many wait for that key, g a group takes no more members or has
--          ended, x a run has ended; then, each behind a space, the ids of unknown dependencies, of holders of keys,
--          and of such groups; or an error, if anything is not valid
-- Events   r, s or b for each created operation, c for each that it supersedes, or whose dependency has failed
-- include: base
-- include: groups
-- include: calls
-- include: size
-- include: links
-- include: enter_linked
-- include: flush
local before = reply_of_before(ARGV[1], ARGV[2], ARGV[3])
if before then return before end
local groups, n, largest = read_groups(4, '[0137]')
if not groups then return redis.error_reply(n) end
local links, wrong = read_links(groups)
if not links then return redis.error_reply(wrong) end

local others = ''
local function enter(group, i, number)
  local at = group.from + 2 * i - 2
  local outcome, other = enter_linked(group.front, number, links[at], ARGV[at + 1])
  if other then others = others .. ' ' .. other end
  return outcome
end

note_large(largest)
local answer = enter_new(groups, n, enter) .. others
keep_answer(ARGV[2], ARGV[3], answer)
flush()
return answer
