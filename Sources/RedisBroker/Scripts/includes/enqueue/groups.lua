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
      return nil, 'ERR sluice: argument ' .. at .. ' begins no group: it needs a valid front, how many, and as many operations'
    end
    n = n + count
    if n > BATCH then return nil, 'ERR sluice: more than ' .. BATCH .. ' operations' end
    local last = at + 1 + count * width
    for i = at + 1 + width, last, width do
      local operation = sent[i]
      if #operation > largest then
        largest = #operation
        if largest + 38 > ELEMENT_BYTES then
          return nil, 'ERR sluice: argument ' .. i .. ': an operation has more than ' .. ELEMENT_BYTES .. ' bytes'
        end
      end
      if not begins_with_id(operation) then return nil, 'ERR sluice: argument ' .. i .. ' does not begin with a valid id' end
    end
    groups[#groups + 1] = { front = ARGV[at], from = at + 2, count = count }
    at = last + 1
  end
  return groups, n, largest + 38
end
