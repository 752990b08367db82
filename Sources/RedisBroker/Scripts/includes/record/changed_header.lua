-- in the base
-- Copies of a header with some fields changed. A new revision makes references that stay in a lane stale.
-- include: header

-- A nil argument keeps the field. `failures`: three digits; `delivery`: a number; times: nine digits of base 36.
local function changed_header(header, revision, failures, delivery, ready_at, deadline)
  return sub(header, 1, 3) .. (revision or sub(header, 4, 4)) .. (failures or sub(header, 5, 7))
    .. (delivery and format('%02d', delivery) or sub(header, 8, 9)) .. (ready_at or sub(header, 10, 18))
    .. (deadline or sub(header, 19, 27)) .. sub(header, 28, 64)
end

local function with_lane(header, lane) return sub(header, 1, 2) .. lane .. sub(header, 4) end
local function with_sequence(header, sequence) return sub(header, 1, 27) .. format('%011x', sequence) .. id_of(header) end

-- Returns the header of an untracked element once the operation has a record.
local function tracked_header(element) return sub(element, 1, 1) .. '1' .. sub(element, 3, 64) end

local function next_revision(header)
  local value = (tonumber(revision_of(header), 36) + 1) % 36
  return sub(DIGITS, value + 1, value + 1)
end

-- Adds one used attempt. The header has three digits for them, so 999 is the most.
local function one_more_failed(header) return format('%03d', min(999, tonumber(failures_of(header)) + 1)) end
