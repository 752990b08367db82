-- A producer sends operations in header batches. The operations of such a batch share the front of their header, its
-- first 27 characters, which is sent and checked once. Any client may call the script, so all is checked before the
-- first write.
-- include: front
-- include: limits

-- Returns the header batches from ARGV[at] on, how many operations they have, and the bytes of the largest; or nil and
-- the error. `flags`: see has_valid_form(). The links of a linked operation stand before it.
local function read_groups(at, flags)
  local groups, n, largest, sent = {}, 0, 0, ARGV
  while at <= #ARGV do
    local count = has_valid_form(ARGV[at], flags) and find(ARGV[at + 1] or '', '^[1-9]%d*$') and tonumber(ARGV[at + 1])
    local width = count and is_linked(ARGV[at]) and 2 or 1
    if not count or count * width > #ARGV - at - 1 then
      return nil, 'ERR sluice: argument ' .. at .. ' begins no header batch: expected a front of 27 characters, the number of operations, then these operations'
    end
    n = n + count
    if n > BATCH then return nil, 'ERR sluice: at least ' .. n .. ' operations in a call, expected at most ' .. BATCH .. ': split the call' end
    local last = at + 1 + count * width
    for i = at + 1 + width, last, width do
      local operation = sent[i]
      if #operation > largest then
        largest = #operation
        if largest + 38 > ELEMENT_BYTES then
          return nil, 'ERR sluice: argument ' .. i .. ': an operation of ' .. largest + 38 .. ' bytes with its header, expected at most '
            .. ELEMENT_BYTES .. ': store the data elsewhere and pass its address'
        end
      end
      if not begins_with_id(operation) then
        return nil, format('ERR sluice: argument %d begins with "%.30s": expected an id of 26 characters of Crockford base 32, the first 0 to 7, then the envelope', i, operation)
      end
    end
    groups[#groups + 1] = { front = ARGV[at], from = at + 2, count = count }
    at = last + 1
  end
  return groups, n, largest + 38
end
