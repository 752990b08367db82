-- A producer sends fronts and operations. A front is the first 27 characters of a header, with delay and expiry as
-- durations. An operation is its id and its envelope.
-- include: header
-- include: limits
local NO_TIMES = ZERO9 .. ZERO9
-- The envelope begins with a character that no id has.
local ID = '^[0-7][0-9A-HJKMNP-TV-Z]+'

-- `flags`: the allowed flags, as a character set of a Lua pattern.
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

-- A delayed operation is always tracked.
local function is_tracked(front) return is_reference(front) or sub(front, 10, 18) ~= ZERO9 end

-- Returns the instant at which a duration from now ends, in ms; nil if the duration is zero.
local function instant(duration) return duration ~= ZERO9 and min(now + tonumber(duration, 36), LATEST) or nil end
local function due_of(front) return instant(sub(front, 10, 18)) end
local function expiry_of(front) return instant(sub(front, 19, 27)) end

-- Returns the header up to its sequence. stamped_tracked() does so for a tracked operation.
local function stamped(front, due, deadline)
  return sub(front, 1, 9) .. (due and time36(due) or NOW36) .. (deadline and time36(deadline) or ZERO9)
end
local function stamped_tracked(front, due, deadline) return '11' .. sub(stamped(front, due, deadline), 3) end
