-- The builds that workers report, by the time at which a worker of each first registered. Only newer builds displace
-- one that is older than all statistics: its workers may run on, and a restart of theirs is no new build.
local BUILDS_KEPT = 50
local BUILDS_KEPT_S = 2678400

-- Call this when a worker registers.
local function keep_build(build)
  local key = PREFIX .. 'builds'
  call('ZADD', key, 'NX', NOW, build)
  call('ZREMRANGEBYRANK', key, '0', format('%d', -BUILDS_KEPT - 1))
  call('EXPIRE', key, BUILDS_KEPT_S)
end
