-- Replaces clock.lua in tests. The test writes the queue's time, in ms, to a key.
local now = tonumber(call('GET', PREFIX .. 'clock') or '1700000000000')
