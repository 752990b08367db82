-- Standing cancels. Until its end, a standing cancel cancels each matching operation after its claim, before the body
-- begins. The worker does the comparison. The hash `standing` has id → "end instant by query", a line feed and the
-- reason, and `cancelled:ID` → how many operations it has cancelled. META 'standing' is "revision end": the number of
-- the last change, and the end of the last standing cancel. Without this field, the queue has no standing cancel.
local STANDING = PREFIX .. 'standing'
local STANDING_ENTRY = '^(%d+) (%d+) (%S*) ([^\n]*)\n(.*)$'

-- The revision that a claim returns; 0 = no standing cancel is alive. `stored`: META 'standing'.
local function standing_revision(stored)
  if not stored then return 0 end
  local revision, ends = string.match(stored, '^(%d+) (%d+)$')
  if tonumber(ends) > now then return tonumber(revision) end
  call('HDEL', META, 'standing')
  call('DEL', STANDING)
  return 0
end
