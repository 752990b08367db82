-- in the base
-- The keys of one operation. A record's key is the id alone: a prefix of three bytes costs eight in the server's
-- memory, and no other key begins like an id.
local function record_key(id) return PREFIX .. id end
local function extras_key(id) return PREFIX .. 'x:' .. id end
local function errors_key(id) return PREFIX .. 'errors:' .. id end
local function log_key(id) return PREFIX .. 'log:' .. id end
