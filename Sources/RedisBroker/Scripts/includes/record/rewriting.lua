-- include: record
-- include: audit

-- The command of a repair that writes a record anew from its state on.
local function rewriting(id, from_state) return 'SETRANGE ' .. quoted(record_key(id)) .. ' 64 ' .. from_state end
