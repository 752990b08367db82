-- Functions that an include calls before the one that defines them, since they call each other: go_on (go_on.lua),
-- leave_blocked (leave_blocked.lua), end_run (group_rules.lua).
local later = {}
