-- Server time in milliseconds. Tests replace this file with test_clock.lua, which reads a key.
local clock = call('TIME')
local now = clock[1] * 1000 + floor(clock[2] / 1000)
