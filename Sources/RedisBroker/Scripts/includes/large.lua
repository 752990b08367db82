-- How large the largest element is that the queue has had since it was last empty, if that is more than usual: a claim pops
-- the fewer at once, so that no reply grows far beyond REPLY_BYTES.
local function note_large(bytes)
  if bytes > USUAL_BYTES and bytes > tonumber(call('HGET', META, 'largest') or 0) then
    call('HSET', META, 'largest', format('%d', bytes))
  end
end

local function claim_step(largest)
  return max(1, floor(REPLY_BYTES / max(USUAL_BYTES, tonumber(largest or 0))))
end
