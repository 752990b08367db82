-- What a producer sends: fronts, the first 27 characters of headers with delay and expiry as durations, and operations, each its id and its
-- envelope.
-- include: header
-- include: limits
local NO_TIMES = ZERO9 .. ZERO9
-- The envelope begins with a character that no id has.
local ID = '^[0-7][0-9A-HJKMNP-TV-Z]+'

-- `flags`: which it may have, as a set of a pattern.
local function has_valid_form(front, flags)
  return #front == 27 and find(front, '^1' .. flags .. '[0-4][0-9a-z]%d%d%d%d%d')
    and (sub(front, 10) == NO_TIMES or not find(front, '[^0-9a-z]', 10))
end

local function begins_with_id(operation)
  local _, last = find(operation, ID)
  return last == 26
end

local function sent_id_of(operation) return sub(operation, 1, 26) end
local function sent_envelope_of(operation) return sub(operation, 27) end

-- What waits for its time is tracked.
local function is_tracked(front) return is_reference(front) or sub(front, 10, 18) ~= ZERO9 end

-- The instant that a duration leads to, nil if there is none.
local function instant(duration) return duration ~= ZERO9 and min(now + tonumber(duration, 36), LATEST) or nil end
local function due_of(front) return instant(sub(front, 10, 18)) end
local function expiry_of(front) return instant(sub(front, 19, 27)) end

-- The header up to its sequence, and of what is tracked so.
local function stamped(front, due, deadline)
  return sub(front, 1, 9) .. (due and time36(due) or NOW36) .. (deadline and time36(deadline) or ZERO9)
end
local function stamped_tracked(front, due, deadline) return '11' .. sub(stamped(front, due, deadline), 3) end
