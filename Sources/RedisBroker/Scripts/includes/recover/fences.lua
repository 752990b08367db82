-- Returns the fences that a worker holds, oldest first.
local function oldest_fences(worker)
  local fences = call('HKEYS', PREFIX .. 'inflight:' .. worker)
  for i = 1, #fences do fences[i] = tonumber(fences[i]) end
  table.sort(fences)
  return fences
end
