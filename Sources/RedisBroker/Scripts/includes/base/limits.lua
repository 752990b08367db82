-- The defaults and limits that scripts need; Defaults.swift holds them too, and a test compares the two.
local MAX_DELIVERIES = 3
-- Over how long those are spread that were lost before and have one delivery left.
local LAST_DELIVERY_SPREAD_MS = 10000
local ERRORS_KEPT = 10
local LOG_LINES = 1000
local LOG_BYTES = 262144
local PROMOTE_LIMIT = 100
local PROMOTE_LEAST = 25
local SWEEP_LIMIT = 200
-- Ends cost several times as much: with what each call trims, a sweep clears no more of a cancelled batch.
local CLEAR_LIMIT = 80
local REPLY_BYTES = 262144
local USUAL_BYTES = 4096
local BATCH = 500
-- Tracked ones cost several times as much: a claim hands out no more of them.
local TRACKED_BATCH = 100
local ELEMENT_BYTES = 1048576
-- The last instant that nine digits of base 36 can say.
local LATEST = 101559956668415
local AGEING_MS = 30000
-- How long the answers of a producer's calls are kept, by how much that is put off once a minute, and how many go at once.
local CALLS_KEPT_MS = 600000
local CALLS_SLACK_MS = 60000
local FORGOTTEN_AT_ONCE = 16
-- How far a call moves the floor of its producer at most: for each number in between it may have an answer to remove.
local FLOOR_STEP = 500
local INTENTS_KEPT = 10000
local INTENT_MS = 86400000
local UNHANDLED_NAMES_KEPT = 1000
-- How long, in ms, and how many ended operations are kept. Tables of a function are made only when it is called.
local function retention(state)
  local RETENTION_MS = { f = 3600000, c = 86400000, e = 86400000, d = 7776000000 }
  local RETENTION_COUNT = { f = 100000, c = 10000, e = 10000, d = 100000 }
  return RETENTION_MS[state], RETENTION_COUNT[state]
end
-- Never removed earlier than this after their end, and while somebody waited for them within that long.
local RETENTION_LEAST_MS = 10000
local AWAITED_MS = 60000
-- How many of these a call passes over at most, besides as many as it may remove.
local PASSED_AT_ONCE = 100
