-- Parses the links of an operation, lines "NAME VALUE". Any client may call the script, so every line is checked.
-- include: header
-- include: needs
local POLICIES = { join = true, skip = true, replace = true, enqueue = true, debounce = true, keepLatest = true }
local UNIQUE_KEY_BYTES = 128
local LIMIT_KEY_BYTES = 128
local FAILURE_POLICIES = { cancel = true, run = true, hold = true, member = true, success = true, death = true }
-- Most dependencies of an operation in one call, and most bytes of its links.
local NEEDS = 500
local LINKS_BYTES = 98304

local CHECKS = {
  unique = function(value) return #value >= 1 and #value <= UNIQUE_KEY_BYTES and not find(value, '%c') end,
  ifExists = function(value) return POLICIES[value] end,
  limitKey = function(value) return #value <= LIMIT_KEY_BYTES and not find(value, '[^%w._-]') end,
  open = function(value) return value == '1' end,
  group = function(value) return (find(value, '^close [1-9]%d*$') or find(value, '^cancel [1-9]%d*$')) and #value <= 17 end,
  run = function(value) return find(value, '^%S+ %d+ %w+$') and #value <= 200 end,
  freshFor = function(value) return find(value, '^[1-9]%d*$') and #value <= 14 end,
}

local function is_name(name)
  local queue, id = string.match(name, '^([^/]*)/(%w+)$')
  return #(id or name) == 26 and (queue and is_queue_name(queue) or not find(name, '%W'))
end

-- Parses one of at most NEEDS dependencies: "after ID POLICY", or "after QUEUE/ID POLICY STATE SEQUENCE" with the
-- answer of `link`. Returns whether the value is valid.
local function add_after(links, value)
  local name, policy, rest = string.match(value, '^(%S+) (%a+)(.*)$')
  if not name or not is_name(name) or not FAILURE_POLICIES[policy] then return false end
  local state, sequence = string.match(rest, '^ ([-?fdcem]) (%d+)$')
  local said = state and #sequence <= 13 and { state = state, sequence = tonumber(sequence) } or nil
  if is_remote(name) ~= (said ~= nil) or (not said and rest ~= '') then return false end
  links.after = links.after or {}
  local after = links.after
  if after[name] or #after == 2 * NEEDS or (policy == 'death' and said) then return false end
  after[#after + 1], after[#after + 2], after[name] = name, policy, said or true
  return true
end

-- Parses a group of this queue (member), or a queue with a group that already knows of the operation (tell). Returns
-- whether the value is valid.
local function add_to(links, name, value)
  local GROUPS = 8
  local list = links[name] or {}
  links[name] = list
  for i = 1, #list do
    if list[i] == value then return false end
  end
  list[#list + 1] = value
  if name == 'tell' then return is_queue_name(value) and #list <= GROUPS end
  return #value == 26 and not find(value, '%W') and #list <= GROUPS
end

local function links_of(text)
  local links = {}
  if #text > LINKS_BYTES then return nil end
  for line in string.gmatch(text, '[^\n]+') do
    local name, value = string.match(line, '^(%a+) (.+)$')
    if name == 'after' then
      if not add_after(links, value) then return nil end
    elseif name == 'member' or name == 'tell' then
      if not add_to(links, name, value) then return nil end
    else
      if not name or links[name] or not CHECKS[name] or not CHECKS[name](value) then return nil end
      links[name] = value
    end
  end
  if links.open and not links.after then return nil end
  for i = 1, links.after and links.member and #links.member or 0 do
    if links.after[links.member[i]] then return nil end
  end
  if (links.group or links.run) and (links.limitKey or links.after) then return nil end
  if not links.unique ~= not links.ifExists or not next(links) then return nil end
  return links
end

-- Counts the dependencies that are members of a group.
local function members_of(after)
  local n = 0
  for i = 2, after and #after or 0, 2 do
    if after[i] == 'member' then n = n + 1 end
  end
  return n
end

-- Returns all links by the number of their argument; or nil and the error.
local function read_links(groups)
  local all = {}
  for _, group in ipairs(groups) do
    for at = group.from, is_linked(group.front) and group.from + 2 * group.count - 1 or 0, 2 do
      all[at] = links_of(ARGV[at])
      if not all[at] or members_of(all[at].after) > 0 or (all[at].limitKey ~= nil) ~= has_limit_key(group.front) then return nil, 'ERR sluice: argument ' .. at .. ' has no valid links: expected lines "NAME VALUE", such as "after ID POLICY"' end
    end
  end
  return all
end
