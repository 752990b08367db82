-- include: record
-- include: limits

-- Bytes of a tracked operation's header and envelope.
local function bytes_of_record(id) return call('STRLEN', record_key(id)) - HEAD + 64 end

-- Remembers the bytes of the largest element that came or came back since the queue was last empty, if that is more than usual: claim_step
-- needs it.
local function note_large(bytes)
  if bytes <= USUAL_BYTES or bytes <= tonumber(call('HGET', META, 'largest') or 0) then return end
  call('HSET', META, 'largest', format('%d', bytes))
end
