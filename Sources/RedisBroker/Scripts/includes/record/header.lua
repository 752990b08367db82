-- in the base
-- The first 64 characters of an element or record, from 1: version 1, flags 2, lane 3, revision 4, failed attempts 5–7,
-- delivery 8–9, ready at 10–18, deadline 19–27, sequence 28–38, id 39–64. Only this folder and the two fast paths know
-- a position.

-- Whether an element is a reference to a record. Otherwise the element is the operation itself.
local function is_reference(element) return byte(element, 2) ~= 48 end
-- Whether an operation with this header or front is linked: it has a unique key, a limit key, or a dependency on either
-- side.
local function is_linked(header) return byte(header, 2) > 49 end
-- Whether a linked operation has a limit key.
local function has_limit_key(header) return byte(header, 2) == 55 end
local function header_of(element) return sub(element, 1, 64) end
local function envelope_of(element) return sub(element, 65) end
local function lane_of(header) return sub(header, 3, 3) end
local function revision_of(header) return sub(header, 4, 4) end
-- Returns the three digits as they are stored.
local function failures_of(header) return sub(header, 5, 7) end
local function delivery_of(header) return tonumber(sub(header, 8, 9)) end
local function ready_at_of(header) return tonumber(sub(header, 10, 18), 36) end
local function sequence_of(header) return tonumber(sub(header, 28, 38), 16) end
-- A sort key: by the instant at which the operation becomes ready, then by enqueue order.
local function due_place_of(header) return sub(header, 10, 18) .. sub(header, 28, 38) end
local function id_of(element) return sub(element, 39, 64) end

-- The number of sequences that fit in eleven hexadecimal digits.
local SEQUENCES = 17592186044416
-- The score in a sorted set of ready operations: by lane, the highest first, then by enqueue order.
local function place_score_of(lane, sequence) return format('%.0f', (4 - lane) * SEQUENCES + sequence) end
local LANES = 5
-- Rank 0 is lane 4, the highest.
local function rank_of_score(score) return floor(score / SEQUENCES) end
local function place_score(header) return place_score_of(tonumber(lane_of(header)), sequence_of(header)) end

-- Returns ms; nil = the operation never expires.
local function deadline_of(header)
  local deadline = sub(header, 19, 27)
  return deadline ~= ZERO9 and tonumber(deadline, 36) or nil
end
