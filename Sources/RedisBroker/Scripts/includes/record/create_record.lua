-- in the base
-- include: record

-- Creates all records or none. Returns false if one of the keys has a record. `keys_and_records`: key, record, key,
-- record, …
local function create_records(keys_and_records) return call('MSETNX', unpack(keys_and_records)) == 1 end

local function create_record(key, record) return call('SET', key, record, 'NX') end
