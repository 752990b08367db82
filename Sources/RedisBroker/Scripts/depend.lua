-- Changes the dependencies of an operation that has not started, or the members of a group that has not finished.
-- KEYS[1]  {namespace/queue}:meta
-- ARGV[1]  by (one word)  ARGV[2] id  ARGV[3] lines "after …" as of enqueue_linked.lua: further dependencies; '' = none
-- ARGV[4]  part or last: these are a part, or the last part, of what the producer has left open (see the line "open");
--          '' = neither
-- ARGV[5…] names of dependencies that go, at most 500
-- Output   1 and behind it, with a blank before each, the new names; 0 unknown, the letter of the state that forbids
--          it, h it is held, o it is not open, n and the id of an unknown dependency, m too many, g it is a group and
--          these are no members, or the other way round; or an error
-- Events   b if the operation is blocked now, r, s or c if it no longer is, with the change; of a group those of its
--          end, and no change
-- include: base
-- include: links
-- include: change_needs
-- include: members
-- include: extras
-- include: finish
-- include: flush
local by, id = ARGV[1], ARGV[2]
-- A group gets thousands of members, and not from an operator, so a change of a group is not recorded as an event.
local is_of_group = false

local function parsed()
  if ARGV[3] == '' then return {} end
  local links = links_of(ARGV[3])
  return links and links.after and not links.unique and not links.limitKey and links.after
end

local function kind_of(after)
  local members, others = 0, 0
  for i = 2, #after, 2 do
    if after[i] == 'member' then
      members = members + 1
    elseif after[i] == 'cancel' or after[i] == 'run' or after[i] == 'hold' then
      others = others + 1
    end
  end
  if members + others < #after / 2 or (members > 0 and others > 0) then return nil end
  return members > 0 and 'members' or others > 0 and 'others' or 'none'
end

-- Takes the ends that queues have said of members that the group has already.
local function hear_of_members(after, missing)
  for i = 1, #after, 2 do
    local said = after[after[i]]
    if is_remote(after[i]) and missing[after[i]] == nil and is_end(said.state) then
      local last, ended = hear_of(after[i], said.sequence, said.state)
      if ended then note_ended_dependency(after[i], last, ended) end
    end
  end
end

local function depend(after)
  local head = head_of(id)
  if not head then return '0' end
  local state = state_of(head)
  local members = group_members()
  local group = members.group_of(id, head)
  is_of_group = group ~= nil
  if kind_of(after) ~= (#after == 0 and 'none' or group and 'members' or 'others') then return 'g' end
  local missing, changed = names_missing(id, after)
  if group and #missing > 0 and not members.may_enter(id, head) then return has_cancel(id) and 'c' or state end
  if group then hear_of_members(after, missing) end
  local is_known = group and #after > 0 and #missing == 0
  if is_known then return '1' end
  if not (group and state == 'd' and (#missing > 0 or #ARGV > 4)) and state ~= 'r' and state ~= 's' and state ~= 'b' then return state end
  if state == 'b' and is_held(id) then return 'h' end
  local is_open = call('HEXISTS', needs_key(id), OPEN) == 1
  if ARGV[4] ~= '' and not is_open then return 'o' end
  if call('HLEN', needs_key(id)) - (is_open and 1 or 0) - #changed + #missing / 2 > (group and members.IN_ALL or NEEDS_IN_ALL) then return 'm' end
  local needs, unknown = read_needs(missing)
  if not needs then return 'n' .. unknown end
  if group then
    if #missing > 0 then members.open_again(id, head) end
    members.renew(id, group)
  end
  local gone = {}
  for i = 5, #ARGV do gone[i - 4] = ARGV[i] end
  local names = change_needs(id, needs, changed, gone, ARGV[4] == 'last')
  if group and #gone > 0 then group_rules().end_again(id) end
  return '1' .. names
end

call('HDEL', META, '')
local after = parsed()
if not after then return redis.error_reply('ERR sluice: argument 3 is not a list of dependencies: expected at most 500 lines "after ID POLICY"') end
if #ARGV - 4 > BATCH then return redis.error_reply('ERR sluice: ' .. #ARGV - 4 .. ' dependencies to remove, expected at most ' .. BATCH .. ': split the call') end
local outcome = depend(after)
if find(outcome, '^1') and not is_of_group then note_change('depend', by, 1, '', id) end
flush()
return outcome
