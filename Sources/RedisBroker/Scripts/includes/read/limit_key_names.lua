-- in the base
-- The sets of a limit key, for scripts that read: see limit_keys.lua.
local function generation_of_keys() return call('HGET', META, 'batch') or '0' end
local function waiting_place_of_key(key) return 'keyed:' .. generation_of_keys() .. ':' .. key end
local function waiting_of_key(key) return PREFIX .. waiting_place_of_key(key) end
local function next_place_of_key(key) return 'next:' .. generation_of_keys() .. ':' .. key end
local function next_of_key(key) return PREFIX .. next_place_of_key(key) end
-- When all starts of the key's rate are back, in microseconds; '' = now.
local function bucket_of_key(key) return call('ZSCORE', PREFIX .. 'keyBuckets', key) or '' end
