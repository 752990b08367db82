-- Cancels all waiting operations of a queue in constant time. The lanes and sets are renamed and become a batch, which
-- sweeps clear away (see clear_batch.lua). `state_of` recognizes the operations of a batch by their sequence.
-- include: events

-- Returns how many operations waited.
local function cancel_waiting(sequence, trace)
  local batch = PREFIX .. 'batch:' .. format('%d', call('HINCRBY', META, 'batch', 1)) .. ':'
  local number, waiting = string.match(batch, '(%d+):$'), 0

  local function take(place, size)
    if size > 0 then call('RENAME', PREFIX .. place, batch .. place) end
    waiting = waiting + size
  end
  for lane = 0, 4 do take('lane:' .. lane, call('LLEN', PREFIX .. 'lane:' .. lane)) end
  take('scheduled', call('ZCARD', PREFIX .. 'scheduled'))
  take('retrying', call('ZCARD', PREFIX .. 'retrying'))
  take('blocked', call('ZCARD', PREFIX .. 'blocked'))
  local totals = call('HMGET', TOTALS, 'stale', 'unhandled', 'keyed')
  local stale, unhandled = tonumber(totals[1] or 0), tonumber(totals[2] or 0)
  if call('EXISTS', PREFIX .. 'unhandled') == 1 then
    call('RENAME', PREFIX .. 'unhandled', batch .. 'unhandled')
    call('RENAME', PREFIX .. 'unhandled:names', batch .. 'names')
    waiting = waiting + unhandled
    add('unhandled', -unhandled)
  end
  if call('EXISTS', PREFIX .. 'keyed') == 1 then
    call('RENAME', PREFIX .. 'keyed', batch .. 'keyed')
    call('UNLINK', PREFIX .. 'keyNames')
    waiting = waiting + tonumber(totals[3] or 0)
    add('keyed', -tonumber(totals[3] or 0))
  end
  waiting = waiting - stale
  add('stale', -stale)
  add('cancelled', waiting)
  add('clearing', waiting)
  events_unnamed('c', waiting, true)
  -- UNLINK frees a large set outside the script's time.
  call('UNLINK', PREFIX .. 'expiring')
  call('RPUSH', PREFIX .. 'batches', number .. ' ' .. sequence .. ' ' .. trace)
  return waiting
end
