-- What audits share. A finding is code, subject, detail, and the arguments of the redis-cli command that repairs it ('' = none).
-- Each is looked at in one step, so what is found was wrong at that instant, whatever else was going on.
local findings = {}
local function finding(code, subject, detail, repair)
  findings[#findings + 1] = { code, subject, detail, repair or '' }
end

local function quoted(key) return "'" .. key .. "'" end
local function is_id(text) return #text == 26 and not find(text, '[^0-9A-Z]') end
local function is_header(text) return #text == 64 and not find(text, '[^0-9A-Za-z]') end
local STATE_OF = { scheduled = 's', retrying = 't', blocked = 'b', unhandled = 'u', keyed = 'r' }
local NAMES = {
  r = 'ready', u = 'unhandled', s = 'scheduled', t = 'retrying', b = 'blocked', x = 'executing', f = 'finished', d = 'dead', c = 'cancelled',
  e = 'expired',
}
local function name_of(state) return NAMES[state] or 'unreadable' end
