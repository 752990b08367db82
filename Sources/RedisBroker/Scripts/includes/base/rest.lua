-- in the base
-- What every script has that does not end on a fast path.
-- Redis writes a Lua number with 17 digits of a double, slowly; text is taken as it is.
local NOW = format('%d', now)

-- Changes of the totals, written once at the end by flush().
local added = {}
local function add(field, n)
  added[field] = (added[field] or 0) + n
end

-- What flush() calls first: an include that gathers puts here what writes it, once it has something.
local at_end = {}
