-- Dependencies. The hash `needs:ID` has the dependencies of an operation, each as id → "POLICY END". The policy
-- (cancel, run, hold) says what becomes of the operation if the dependency ends otherwise than finished. END is the
-- last end that the operation has received ('-' = none). The field `unmet` of its extras counts the dependencies that
-- the operation waits for; the operation is blocked as long as it waits for any.
-- The sorted set `dependents:ID` has the dependents of an operation. The score is the sequence that the dependency had
-- at the last end that the dependent has received, or less than its sequence. A retry gives the dependency a higher
-- sequence, so its next end counts again. `outbox` has ended dependencies whose end some dependents have not received,
-- by sequence and how they ended.
-- A dependency in another queue is called QUEUE/ID in all of these; see remote.lua. The entry OPEN says that the
-- producer has not said all yet. The dependencies of groups have the policy member, and callbacks depend on their group
-- with the policies success and death; see members.lua.
-- include: keys
local OUTBOX = PREFIX .. 'outbox'
local function needs_key(id) return PREFIX .. 'needs:' .. id end
local function dependents_key(id) return PREFIX .. 'dependents:' .. id end

local function is_remote(name) return find(name, '/', 1, true) ~= nil end
local function is_queue_name(text) return text ~= '' and #text <= 128 and not find(text, '[^%w._-]') end
local function id_of_name(name) return string.match(name, '%w+$') end

local OPEN = '+'
-- Most dependencies of an operation.
local NEEDS_IN_ALL = 10000

-- The letter m: it was removed.
local ENDS = 'fdcem'
local END_NAMES = { d = 'is dead', c = 'is cancelled', e = 'has expired', m = 'was removed' }

local function outbox_score(sequence, state) return format('%.0f', sequence * #ENDS + find(ENDS, state, 1, true) - 1) end
local function end_of_outbox_score(score)
  local number = tonumber(score)
  local place = number % #ENDS
  return (number - place) / #ENDS, string.match(ENDS, '.', place + 1)
end

local function is_end(state) return find(ENDS, state, 1, true) ~= nil end

-- The state of a group that has seen the death of a member.
local SEEN = '!'

-- Whether a dependency in this state no longer blocks its dependents with this policy.
local function is_met(state, policy)
  if policy == 'death' then return state == SEEN end
  return state == 'f' or ((policy == 'run' or policy == 'member') and is_end(state))
end
local function read_need(need) return string.match(need or '', '^(%a+) (.)$') end

-- Whether an operation is a callback of a group that has not started, and whether it can never start.
local function callback_of(id)
  local needs, is_callback, is_hopeless = call('HSCAN', needs_key(id), '0', 'COUNT', '100')[2], false, false
  for i = 2, #needs, 2 do
    local policy, before = read_need(needs[i])
    if (policy == 'success' or policy == 'death') and not is_met(before, policy) then
      is_callback = true
      is_hopeless = is_hopeless or (is_end(before) and (policy == 'death' or before ~= 'd'))
    end
  end
  return is_callback, is_hopeless
end

local function need_of(policy, state) return policy .. ' ' .. (is_end(state) and state or '-') end
