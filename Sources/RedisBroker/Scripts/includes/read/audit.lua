-- Shared by audits. A finding is code, subject, detail, and the effect of its fix in words ('' = none). Each check is
-- one step, so a finding was wrong at that instant, whatever else was going on. `ARGV[1]` has the codes to fix, each
-- between blanks: the step that finds such a finding also fixes it.
local findings = {}
local function finding(code, subject, detail, words, change)
  findings[#findings + 1] = { code, subject, detail, words or '' }
  if change and find(ARGV[1], ' ' .. code .. ' ', 1, true) then change[1](unpack(change, 2)) end
end

-- The change that fixes a finding: { function, arguments }.
local function zadd(key, score, member) call('ZADD', key, score, member) end
local function zrem(key, member) call('ZREM', key, member) end
local function hset(key, field, value) call('HSET', key, field, value) end
local function hdel(key, field) call('HDEL', key, field) end
local function hincrby(key, field, by) call('HINCRBY', key, field, format('%d', by)) end
local function sadd(key, member) call('SADD', key, member) end
local function srem(key, member) call('SREM', key, member) end
local function lrem(key, count, element) call('LREM', key, count, element) end
local function unlink(keys)
  for _, key in ipairs(keys) do call('UNLINK', key) end
end

local function is_id(text) return #text == 26 and not find(text, '[^0-9A-Z]') end
local function is_header(text) return #text == 64 and not find(text, '[^0-9A-Za-z]') end
local STATE_OF = { scheduled = 's', retrying = 't', blocked = 'b', unhandled = 'u', keyed = 'r', next = 'r' }
local NAMES = {
  r = 'ready', u = 'unhandled', s = 'scheduled', t = 'retrying', b = 'blocked', x = 'executing', f = 'finished', d = 'dead', c = 'cancelled',
  e = 'expired',
}
local function name_of(state) return NAMES[state] or 'unreadable' end
