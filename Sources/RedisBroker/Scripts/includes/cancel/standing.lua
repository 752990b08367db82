-- Standing cancels: until its time, what matches one of them is cancelled after its claim, before its body begins. Workers compare.
-- The hash `standing` has id → "end instant by query", a line feed and the reason, and `caught:ID` → how many it has caught. META 'standing' is "revision end": the
-- number of the last change, and when the last of them ends. Without this field there are none.
local STANDING = PREFIX .. 'standing'
local STANDING_ENTRY = '^(%d+) (%d+) (%S*) ([^\n]*)\n(.*)$'

-- The revision that a claim answers; 0 = no standing cancel is alive. `stored`: META 'standing'.
local function standing_revision(stored)
  if not stored then return 0 end
  local revision, ends = string.match(stored, '^(%d+) (%d+)$')
  if tonumber(ends) > now then return tonumber(revision) end
  call('HDEL', META, 'standing')
  call('DEL', STANDING)
  return 0
end
