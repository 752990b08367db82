import Logging
import NIOCore
import Operations
import RedisClient

@testable import RedisBroker

/// Reads all entries of a queue in Redis as a `QueueLayout`, with one pipeline.
struct RedisLayout {
    private let redis: RedisBroker
    private let queue: String
    private let workers: [WorkerID]
    private let link: RedisLink
    private static let script = RedisScript(name: "layout", source: source)

    /// The undecoded replies of one read. Most steps change little, and unchanged replies need not be decoded again.
    struct Look: Sendable {
        var text: RedisValue
        var snapshot: RedisValue
        var details: [OperationID: RedisValue]
    }

    init(_ clocked: ClockedBroker, queue: String, workers: [WorkerID]) {
        redis = clocked.redis
        link = RedisLink(
            clocked.direct.endpoint,
            configuration: .patient,
            on: clocked.direct.eventLoop,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        self.queue = queue
        self.workers = workers
    }

    func close() { link.close() }

    /// - Parameter endedRows: the most ended operations of each state to read, newest first.
    func look(at ids: [OperationID], endedRows: Int) async throws -> Look {
        var layout = RedisArguments(keys: [redis.keys.meta(queue)])
        layout.append(String(min(endedRows, 1_000_000)))
        for worker in workers { layout.append(worker.description) }
        var snapshot = redis.arguments(queue)
        snapshot.append(200)
        var details = redis.arguments(queue)
        for id in ids { details.append(id) }
        let replies = [
            link.submit(Self.script, tail: layout), redis.link.submit(redis.scripts[.snapshot], tail: snapshot),
            redis.link.submit(redis.scripts[.details], tail: details),
        ]
        let values = try await EventLoopFuture.whenAllSucceed(replies, on: replies[0].eventLoop).get()
        let rows = try values[2].expectSuccess().array ?? []
        return Look(
            text: try values[0].expectSuccess(),
            snapshot: try values[1].expectSuccess(),
            details: Dictionary(uniqueKeysWithValues: zip(ids, rows))
        )
    }

    private static let source = """
        local call, P = redis.call, string.sub(KEYS[1], 1, -5)
        local out = {}
        local function put(...) out[#out + 1] = table.concat({ ... }, ' ') end
        local function header(element) return string.sub(element, 1, 64) end
        local function by_number(a, b) return tonumber(a) < tonumber(b) end
        local function lane(place, key)
          for i, element in ipairs(call('LRANGE', key, 0, -1)) do put(place, i - 1, header(element)) end
        end
        local function set(place, key, rows)
          local entries = call('ZRANGE', key, rows and -rows or 0, -1, 'WITHSCORES')
          for i = 1, #entries, 2 do put(place, entries[i], string.format('%.0f', entries[i + 1])) end
        end
        local function hash(key, order, write)
          local values, fields = call('HGETALL', key), {}
          for i = 1, #values, 2 do
            fields[#fields + 1] = values[i]
            values[values[i]] = values[i + 1]
          end
          table.sort(fields, order)
          for _, field in ipairs(fields) do write(field, values[field]) end
        end
        local function hash_of_set(key, write)
          local entries, names, scores = call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}, {}
          for i = 1, #entries, 2 do
            names[#names + 1] = entries[i]
            scores[entries[i]] = string.format('%.0f', entries[i + 1])
          end
          table.sort(names)
          for _, name in ipairs(names) do write(name, scores[name]) end
        end
        for n = 0, 4 do lane('lane:' .. n, P .. 'lane:' .. n) end
        for _, place in ipairs({ 'scheduled', 'retrying', 'blocked' }) do set(place, P .. place) end
        local expiring, parked = call('ZRANGE', P .. 'expiring', 0, -1, 'WITHSCORES'), {}
        for i = 1, #expiring, 2 do
          local key, at = string.match(expiring[i], '^%*(.*)'), string.format('%.0f', expiring[i + 1])
          if key then parked[#parked + 1] = key .. ' ' .. at else put('expiring', expiring[i], at) end
        end
        local function unhandled(place, counts, names)
          local all = call('ZRANGE', counts, 0, -1)
          table.sort(all)
          for _, name in ipairs(all) do
            local number = call('HGET', names, name)
            if call('HGET', names, '#' .. number) ~= name then put('names differ', name) end
            set(place .. name, P .. 'unhandled:' .. number)
          end
          if place == 'unhandled:' and call('HLEN', names) ~= 2 * #all then put('names left') end
        end
        unhandled('unhandled:', P .. 'unhandled', P .. 'unhandled:names')
        for i, batch in ipairs(call('LRANGE', P .. 'batches', 0, -1)) do
          local g = P .. 'batch:' .. string.match(batch, '^%d+') .. ':'
          local place = 'batch:' .. (i - 1) .. ':'
          for n = 0, 4 do lane(place .. 'lane:' .. n, g .. 'lane:' .. n) end
          set(place .. 'scheduled', g .. 'scheduled')
          set(place .. 'retrying', g .. 'retrying')
          set(place .. 'blocked', g .. 'blocked')
          unhandled(place .. 'unhandled:', g .. 'unhandled', g .. 'names')
          local number, keys = tonumber(string.match(batch, '^%d+')) - 1, call('ZRANGE', g .. 'keyed', 0, -1)
          table.sort(keys)
          for _, key in ipairs(keys) do set(place .. 'keyed:' .. key, P .. 'keyed:' .. number .. ':' .. key) end
        end
        local cancels = call('HGET', KEYS[1], 'batch') or '0'
        hash_of_set(P .. 'keyed', function(key, ready)
          put('keyed', key, ready)
          if not call('ZSCORE', P .. 'keyNames', key) then put('names differ', key) end
          set('keyed:' .. key, P .. 'keyed:' .. cancels .. ':' .. key)
          set('next:' .. key, P .. 'next:' .. cancels .. ':' .. key)
        end)
        if call('ZCARD', P .. 'keyNames') ~= call('ZCARD', P .. 'keyed') then put('names left') end
        local running = call('KEYS', P .. 'running:*')
        table.sort(running)
        for _, key in ipairs(running) do
          local ids = call('SMEMBERS', key)
          table.sort(ids)
          for _, id in ipairs(ids) do put('running', string.sub(key, #P + 9), id) end
        end
        hash(P .. 'keyLimits', nil, function(key, limits) put('keyLimits', key, limits) end)
        for _, line in ipairs(parked) do put('parked', line) end
        set('keyBuckets', P .. 'keyBuckets')
        for i = 2, #ARGV do
          local worker = ARGV[i]
          hash(P .. 'inflight:' .. worker, by_number, function(fence, element)
            put('inflight', worker, fence, header(element))
          end)
          hash(P .. 'cancelling:' .. worker, by_number, function(fence, order)
            put('cancelling', worker, fence, (string.match(order, '^%d+') or string.match(order, '^!%w+ (%d+)')))
          end)
        end
        for _, state in ipairs({ 'f', 'd', 'c', 'e' }) do
          set('ended:' .. state, P .. 'ended:' .. state, tonumber(ARGV[1]))
        end
        set('lease', P .. 'leases')
        hash(P .. 'intents', nil, function(id, intent) put('intent', id, (string.match(intent, '^%d+'))) end)
        hash(P .. 'unique', nil, function(key, holder) put('unique', key, holder) end)
        local behind = call('KEYS', P .. 'behind:*')
        table.sort(behind)
        for _, key in ipairs(behind) do set(string.sub(key, #P + 1), key) end
        set('fresh', P .. 'fresh')
        local inputs = call('KEYS', P .. 'inputs:*')
        table.sort(inputs)
        for _, key in ipairs(inputs) do
          hash(key, nil, function(id, result) put(string.sub(key, #P + 1), id, #result) end)
        end
        local needs = call('KEYS', P .. 'needs:*')
        table.sort(needs)
        for _, key in ipairs(needs) do
          hash(key, nil, function(id, need) put(string.sub(key, #P + 1), id, need) end)
        end
        local dependents = call('KEYS', P .. 'dependents:*')
        table.sort(dependents)
        for _, key in ipairs(dependents) do set(string.sub(key, #P + 1), key) end
        set('outbox', P .. 'outbox')
        local remote = call('KEYS', P .. 'remote:*')
        table.sort(remote)
        for _, key in ipairs(remote) do
          local known = call('HMGET', key, 'sequence', 'state', 'asks', 'unknownSince')
          put(string.sub(key, #P + 1), known[1], known[2] or '-', call('HSTRLEN', key, 'result'), known[3] or '0', known[4] or '0')
        end
        set('asking', P .. 'asking')
        hash_of_set(P .. 'outboxes', function(queue, free_at)
          put('outboxes', queue, free_at)
          set('outbox:' .. queue, P .. 'outbox:' .. queue)
        end)
        if #call('KEYS', P .. 'outbox:*') > call('ZCARD', P .. 'outboxes') then put('outboxes differ') end
        local m = call('HMGET', KEYS[1], 'timerOwner', 'next', 'sequence', 'fence', 'leaseFloor', 'outageUntil', 'limits', 'bucket', 'schedules')
        if m[1] then put('timerOwner', m[1], m[2]) end
        if call('LLEN', P .. 'wake') > 0 then put('wake') end
        if call('EXISTS', P .. 'full') == 1 then put('full') end
        if m[7] then put('limits', m[7]) end
        if m[8] then put('bucket', m[8]) end
        if m[9] then put('schedules', m[9]) end
        put('counters', m[3] or '0', m[4] or '0', call('HGET', P .. 'totals', 'stale') or '0', m[5] or '0', m[6] or '0')
        local builds = call('ZRANGE', P .. 'builds', 0, -1, 'WITHSCORES')
        for i = 1, #builds, 2 do put('build', builds[i], string.format('%.0f', builds[i + 1])) end
        local lost = call('ZRANGE', P .. 'lost', 0, -1, 'WITHSCORES')
        for i = 1, #lost, 2 do
          local numbers = string.match(call('HGET', P .. 'lost:about', lost[i]), '^%d+ %d+ %d+ %d+ %d+')
          put('lost', lost[i], numbers, string.format('%.0f', lost[i + 1]))
        end
        out[#out + 1] = ''
        return table.concat(out, '\\n')
        """
}
