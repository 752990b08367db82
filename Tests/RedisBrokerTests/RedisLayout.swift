import Operations
import RedisClient

/// Reads everything that lies in a queue in Redis, in the words of `InMemoryBroker.layout`.
struct RedisLayout {
    let server: RedisLink
    let prefix: String
    let workers: [WorkerID]

    /// - Parameter endedRows: so many of each state's ended operations, the newest.
    func lines(endedRows: Int) async throws -> [String] {
        var command = RedisCommand("EVAL", Self.script, "1", prefix + "meta", String(min(endedRows, 1_000_000)))
        for worker in workers { command.append(worker.description) }
        return try await server.send(command).expectArray("a layout").compactMap(\.string).sorted()
    }

    private static let script = """
        local call, P = redis.call, string.sub(KEYS[1], 1, -5)
        local out = {}
        local function put(...) out[#out + 1] = table.concat({ ... }, ' ') end
        local function header(element) return string.sub(element, 1, 64) end
        local function lane(place, key)
          for i, element in ipairs(call('LRANGE', key, 0, -1)) do put(place, i - 1, header(element)) end
        end
        local function set(place, key, rows)
          local entries = call('ZRANGE', key, rows and -rows or 0, -1, 'WITHSCORES')
          for i = 1, #entries, 2 do put(place, entries[i], string.format('%.0f', entries[i + 1])) end
        end
        for n = 0, 4 do lane('lane:' .. n, P .. 'lane:' .. n) end
        for _, place in ipairs({ 'scheduled', 'retrying', 'expiring' }) do set(place, P .. place) end
        for _, state in ipairs({ 'f', 'd', 'c', 'e' }) do
          set('ended:' .. state, P .. 'ended:' .. state, tonumber(ARGV[1]))
        end
        for i, grave in ipairs(call('LRANGE', P .. 'graves', 0, -1)) do
          local g = P .. 'grave:' .. string.match(grave, '^%d+') .. ':'
          local place = 'grave:' .. (i - 1) .. ':'
          for n = 0, 4 do lane(place .. 'lane:' .. n, g .. 'lane:' .. n) end
          set(place .. 'scheduled', g .. 'scheduled')
          set(place .. 'retrying', g .. 'retrying')
        end
        for i = 2, #ARGV do
          local worker = ARGV[i]
          local held = call('HGETALL', P .. 'inflight:' .. worker)
          for i = 1, #held, 2 do put('inflight', worker, held[i], header(held[i + 1])) end
          local orders = call('HGETALL', P .. 'cancelling:' .. worker)
          for i = 1, #orders, 2 do put('cancelling', worker, orders[i], string.match(orders[i + 1], '^%d+')) end
        end
        local leases = call('ZRANGE', P .. 'leases', 0, -1, 'WITHSCORES')
        for i = 1, #leases, 2 do put('lease', leases[i], string.format('%.0f', leases[i + 1])) end
        local intents = call('HGETALL', P .. 'intents')
        for i = 1, #intents, 2 do put('intent', intents[i], string.match(intents[i + 1], '^%d+')) end
        local m = call('HMGET', KEYS[1], 'watcher', 'next', 'sequence', 'fence', 'leaseFloor')
        if m[1] then put('watcher', m[1], m[2]) end
        if call('LLEN', P .. 'bell') > 0 then put('bell') end
        put('counters', m[3] or '0', m[4] or '0', call('HGET', P .. 'totals', 'ghosts') or '0', m[5] or '0')
        return out
        """
}
