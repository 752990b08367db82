-- Makes a worker and Redis agree on what the worker owns.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  worker  ARGV[2] epoch, which is stored: claims of an older epoch take nothing from now on  ARGV[3…] the
--          fences that the worker knows
-- Output   1 if more are left to find + 2 times the revision of the standing cancels, number of lost fences, the lost
--          fences, then fence and element (header + envelope) of at most 200 operations (and about 256 KiB) that the
--          worker does not know, oldest first
-- Events   none
-- include: base
-- include: record
-- include: standing
local worker = ARGV[1]
call('HDEL', META, '')
local key = PREFIX .. 'worker:' .. worker
if tonumber(call('HGET', key, 'epoch') or 0) < tonumber(ARGV[2]) then call('HSET', key, 'epoch', ARGV[2]) end
call('PEXPIRE', key, 3600000)

local held, known, unknown, lost = {}, {}, {}, {}
local fences = call('HKEYS', PREFIX .. 'inflight:' .. worker)
for i = 3, #ARGV do known[ARGV[i]] = true end
for i = 1, #fences do
  held[fences[i]] = true
  if not known[fences[i]] then unknown[#unknown + 1] = tonumber(fences[i]) end
end
for i = 3, #ARGV do
  if not held[ARGV[i]] then lost[#lost + 1] = ARGV[i] end
end
table.sort(unknown)

local reply, bytes, more = { 0, #lost }, 0, #unknown > SWEEP_LIMIT and 1 or 0
for i = 1, #lost do reply[#reply + 1] = lost[i] end
for i = 1, min(#unknown, SWEEP_LIMIT) do
  local fence = format('%d', unknown[i])
  local element = call('HGET', PREFIX .. 'inflight:' .. worker, fence)
  if is_reference(element) then
    element = header_of(element) .. envelope_of_record(call('GET', record_key(id_of(element))) or '')
  end
  bytes = bytes + #element
  if i > 1 and bytes > REPLY_BYTES then
    more = 1
    break
  end
  reply[#reply + 1] = fence
  reply[#reply + 1] = element
end
reply[1] = more + 2 * standing_revision(call('HGET', META, 'standing'))
return reply
