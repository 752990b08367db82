-- in the base
-- The first 64 characters of an element or record, from 1: version 1, flags 2, lane 3, revision 4, failed attempts 5–7, delivery 8–9, ready
-- at 10–18, deadline 19–27, sequence 28–38, id 39–64. No file outside this folder knows a position, but the two fast paths.

-- Whether an element is a reference to a record; else it is the operation itself.
local function is_reference(element) return byte(element, 2) ~= 48 end
-- Whether an operation with this header or front has something that links it to others: a key, or a dependency on either side.
local function is_linked(header) return byte(header, 2) > 49 end
-- Of those, whether it has a limit key.
local function has_limit_key(header) return byte(header, 2) == 55 end
local function header_of(element) return sub(element, 1, 64) end
local function envelope_of(element) return sub(element, 65) end
local function lane_of(header) return sub(header, 3, 3) end
local function revision_of(header) return sub(header, 4, 4) end
-- Three digits, as they are written.
local function failures_of(header) return sub(header, 5, 7) end
local function delivery_of(header) return tonumber(sub(header, 8, 9)) end
local function ready_at_of(header) return tonumber(sub(header, 10, 18), 36) end
local function sequence_of(header) return tonumber(sub(header, 28, 38), 16) end
-- Sorts by the instant from which it is ready, then as they were enqueued.
local function due_place_of(header) return sub(header, 10, 18) .. sub(header, 28, 38) end
local function id_of(element) return sub(element, 39, 64) end

-- As many numbers of the sequence as their eleven digits can say.
local SEQUENCES = 17592186044416
-- Where it stands in a set of what is ready: by lane, then as they were enqueued.
local function place_score_of(lane, sequence) return format('%.0f', (4 - lane) * SEQUENCES + sequence) end
local LANES = 5
-- 0 is the highest lane.
local function rank_of_score(score) return floor(score / SEQUENCES) end
local function place_score(header) return place_score_of(tonumber(lane_of(header)), sequence_of(header)) end

-- In ms; nil = it never expires.
local function deadline_of(header)
  local deadline = sub(header, 19, 27)
  return deadline ~= ZERO9 and tonumber(deadline, 36) or nil
end
