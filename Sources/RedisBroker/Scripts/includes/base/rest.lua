-- in the base
-- Shared by all scripts, unless the call ends on a fast path.
-- Redis formats a Lua number slowly, with 17 digits. Redis takes text as it is.
local NOW = format('%d', now)

-- Changes of the totals. flush() writes them once, at the end.
local added = {}
local function add(field, n)
  added[field] = (added[field] or 0) + n
end

-- Functions that flush() calls first. An include that gathers changes adds its writer here with the first change.
local at_end = {}
