-- include: record
-- include: limits

-- Returns the bytes of a tracked operation's header and envelope.
local function bytes_of_record(id) return call('STRLEN', record_key(id)) - HEAD + 64 end

-- Stores the size of the largest element that entered or came back since the queue was last empty, if it is larger than
-- usual. claim_step() reads it.
local function note_large(bytes)
  if bytes <= USUAL_BYTES or bytes <= tonumber(call('HGET', META, 'largest') or 0) then return end
  call('HSET', META, 'largest', format('%d', bytes))
end
