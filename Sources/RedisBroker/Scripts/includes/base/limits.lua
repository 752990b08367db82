-- Defaults and limits for scripts. SluiceDefaults.swift has the same values; a test compares the two.
local MAX_DELIVERIES = 3
-- Recovered operations with one delivery left are spread over this time.
local LAST_DELIVERY_SPREAD_MS = 10000
local ERRORS_KEPT = 10
local LOG_LINES = 1000
local LOG_BYTES = 262144
local PROMOTE_LIMIT = 100
local PROMOTE_LEAST = 25
local SWEEP_LIMIT = 200
-- A sweep clears away at most this many operations of a cancelled batch. An end costs several times as much as a
-- recovery, and the call also trims ended operations.
local CLEAR_LIMIT = 80
local REPLY_BYTES = 262144
local USUAL_BYTES = 4096
local BATCH = 500
-- A claim takes at most this many tracked operations. Each costs several times as much as an untracked one.
local TRACKED_BATCH = 100
local ELEMENT_BYTES = 1048576
-- The latest time, in ms, that fits in nine digits of base 36.
local LATEST = 101559956668415
local AGEING_MS = 30000
-- How long a producer's answers are stored, the slack that limits renewals of the expiry to one a minute, and how many
-- answers are deleted at once.
local CALLS_KEPT_MS = 600000
local CALLS_SLACK_MS = 60000
local FORGOTTEN_AT_ONCE = 16
-- A call raises the floor of its producer by at most this much. For each number in between it may have to delete an
-- answer.
local FLOOR_STEP = 500
local INTENTS_KEPT = 10000
local INTENT_MS = 86400000
local UNHANDLED_NAMES_KEPT = 1000
-- Returns how long ended operations are stored, in ms, and how many of them. The tables are local, so Lua makes them
-- only when the function is called.
local function retention(state)
  local RETENTION_MS = { f = 3600000, c = 86400000, e = 86400000, d = 7776000000 }
  local RETENTION_COUNT = { f = 100000, c = 10000, e = 10000, d = 100000 }
  return RETENTION_MS[state], RETENTION_COUNT[state]
end
-- An ended operation is stored for at least RETENTION_LEAST_MS, and for AWAITED_MS after a client last waited for it.
local RETENTION_LEAST_MS = 10000
local AWAITED_MS = 60000
-- A call skips at most this many awaited operations, besides as many as it may remove.
local PASSED_AT_ONCE = 100
