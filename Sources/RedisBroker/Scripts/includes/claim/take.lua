-- The claim that claim.lua and complete.lua share.
-- include: limits
-- include: promote
-- include: lanes
-- include: readmit
-- include: enter_inflight
-- include: room
-- include: wake
-- include: standing
-- include: limit_keys

-- Decides whether this worker may claim. Returns a refusal or nil, and the queue's settings.
local function refusal(worker, epoch)
  local m = call('HMGET', META, 'paused', 'pausedUntil', 'leaseFloor', 'intents', 'timerOwner', 'next', 'fence', 'largest',
    'standing', 'limits', 'bucket')
  local lease = call('ZSCORE', PREFIX .. 'leases', worker)
  if not lease or (tonumber(lease) < now and tonumber(m[3] or 0) < now) then return 'noLease', m end
  local about = call('HMGET', PREFIX .. 'worker:' .. worker, 'epoch', 'number')
  if tonumber(about[1] or 0) > epoch then return 'staleEpoch', m end
  if not about[2] then return 'noLease', m end
  m.number = about[2]
  if m[1] == '1' then
    if not m[2] or tonumber(m[2]) > now then return 'paused', m end
    call('HDEL', META, 'paused', 'pausedUntil', 'pauseTrace')
  end
  return nil, m
end

-- Whether at most the middle lane has elements and no operation waits for an instant, as in most queues. One command
-- checks this; a look into each place takes seven.
local function is_plain()
  return call('EXISTS', PREFIX .. 'lane:0', PREFIX .. 'lane:1', PREFIX .. 'lane:3', PREFIX .. 'lane:4',
    PREFIX .. 'scheduled', PREFIX .. 'retrying', PREFIX .. 'expiring') == 0
end

-- Returns how many elements are popped at once. A larger element since the queue was last empty makes the number
-- smaller, so that no reply grows far beyond REPLY_BYTES.
local function claim_step(largest)
  return max(1, floor(REPLY_BYTES / max(USUAL_BYTES, tonumber(largest or 0))))
end

-- Returns milliseconds until the next instant, −1 = none. One worker of a queue, the timer owner, gets the exact
-- instant; the others get one second more. An owner without a free slot gives up the timer. A waiting worker that took
-- nothing (`passes_by`) leaves the timer to its current owner, and gets no instant.
local function milliseconds_to_next(worker, is_free, m, passes_by, start_at)
  local due = next_due()
  if start_at then due = min(due or start_at, start_at) end
  local owner = m[5]
  if not due then
    if m[6] then call('HDEL', META, 'timerOwner', 'next') end
    return -1
  end
  if passes_by and owner and owner ~= worker and tonumber(m[6] or 0) == due then return -1 end
  if is_free then
    if owner ~= worker or tonumber(m[6] or 0) ~= due then
      call('HSET', META, 'timerOwner', worker, 'next', format('%d', due))
    end
    return max(0, due - now)
  end
  if not owner or owner == worker then
    call('HDEL', META, 'timerOwner', 'next')
    wake()
  end
  return max(0, due - now) + 1000
end

-- Parses the highest fence and the names behind it. An argument without names is a number and needs no parsing.
local function read_names(text)
  local names = {}
  for name in string.gmatch(text, ' (%S+)') do names[#names + 1] = name end
  return tonumber(string.match(text, '^%d+')), names
end

-- Returns how many operations a claim with this capacity may take, how many more may run (nil = any number), and the
-- rate, if one is set.
local function allowed(capacity, m)
  if not m[10] then return capacity end
  local places, rate = places_of(m[10]), rate_of(m[10], m[11])
  return min(capacity, places or capacity, rate and rate.starts() or capacity), places, rate
end

-- Counts n taken operations. Returns whether a limit lets no more start, and the instant of the next start if the rate
-- holds operations back.
local function note_taken(n, places, rate, more)
  if rate and n > 0 then use_starts(rate, n) end
  if places and places <= n then
    mark_full()
    return true
  end
  if not rate or rate.starts() > 0 then
    mark_open()
    return false
  end
  -- If nothing waits, the queue stays open: the next operation has to wake a worker, or no worker would wait for the
  -- next start.
  if more then mark_full() else mark_open() end
  return true, more and rate.next_start()
end

-- Claims for a worker. Reply: status (limited = a limit lets no more start now), first fence − 1, milliseconds until
-- the next due operation (−1 = none), 1 if more is ready + 2 if more are unhandled + 4 times the revision of the
-- standing cancels, elements… (of a tracked operation its record as it was before).
-- `given`: the highest fence that the worker ever got, and the names that it handles. `for_idle`: the claim comes with
-- a wait for the wake-up token, which sometimes ends without a token.
local function take(worker, epoch, capacity, given, for_idle)
  local refused, m = refusal(worker, epoch)
  if refused then
    local resumes = refused == 'paused' and m[2]
    return { refused, 0, resumes and max(0, tonumber(resumes) - now) or -1, 0 }
  end
  local highest, is_left, names = tonumber(given), false, nil
  if not highest then
    highest, names = read_names(given)
  end
  local plain = is_plain()
  if plain then nothing_waits() else promote() end
  local wanted, places, rate = allowed(capacity, m)
  local readmit, settle
  if names then
    readmit, settle = readmission()
    local largest = readmit(names, min(wanted, TRACKED_BATCH))
    note_large(largest)
    m[8] = max(tonumber(m[8] or 0), largest)
    plain = is_plain()
  end
  if limit_keys then
    limit_keys.settle()
    plain = false
  end
  local intents = m[4] and call('HLEN', PREFIX .. 'intents') > 0
  if m[4] and not intents then call('HDEL', META, 'intents') end
  local taken, more = collect(wanted, tonumber(m[7] or 0), intents, claim_step(m[8]), plain)
  if settle then is_left = settle() end
  local fence = enter_inflight(worker, m.number, taken, highest)
  local is_limited, start_at
  if m[10] then is_limited, start_at = note_taken(#taken, places, rate, more) end
  local has_more = more and not is_limited
  if has_more then wake() end
  if limit_keys and limit_keys.has_parked then firsts.expiring = nil end
  local due = milliseconds_to_next(worker, #taken < capacity, m, for_idle and #taken == 0, start_at)
  if m[8] and not more and due < 0 then call('HDEL', META, 'largest') end
  local reply = { is_limited and 'limited' or 'ok', fence, due, (has_more and 1 or 0) + (is_left and 2 or 0) + 4 * standing_revision(m[9]) }
  for i = 1, #taken do reply[i + 4] = taken[i] end
  return reply
end
