-- in the base
-- include: record

-- All or none: false if there is a record under one of the keys. `keys_and_records`: key, record, key, record, …
local function create_records(keys_and_records) return call('MSETNX', unpack(keys_and_records)) == 1 end

local function create_record(key, record) return call('SET', key, record, 'NX') end
