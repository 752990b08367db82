import Testing

@testable import RedisClient

@Suite("A command in wire form", .timeLimit(.minutes(60)))
struct CommandTests {
    private func wire(_ command: RedisCommand) -> String { String(decoding: command.arguments.bytes, as: UTF8.self) }

    @Test("has every argument as a bulk string with its length in bytes")
    func encoding() {
        var command = RedisCommand("SET", "ké", [0x61, 0x62] as [UInt8])
        command.append(-12)
        command.append(Int64.min)
        command.append([1, 2, 3, 4][1...2].map { UInt8($0 + 96) }[...])
        command.append("")
        let expected =
            "$3\r\nSET\r\n$3\r\nké\r\n$2\r\nab\r\n$3\r\n-12\r\n$20\r\n-9223372036854775808\r\n$2\r\nbc\r\n$0\r\n\r\n"
        #expect(wire(command) == expected)
        #expect(command.arguments.count == 7)
    }

    @Test("writes lengths and numbers with any number of digits")
    func numbers() {
        var value: Int64 = 1
        while value < .max / 10 {
            for number in [value - 1, value, -value] {
                var arguments = RedisArguments()
                arguments.append(number)
                let text = "\(number)"
                #expect(String(decoding: arguments.bytes, as: UTF8.self) == "$\(text.count)\r\n\(text)\r\n")
            }
            value *= 10
        }
    }

    @Test("takes an encoded tail byte for byte")
    func tails() {
        var tail = RedisArguments(keys: ["a", "b"])
        tail.append("x")
        #expect(
            wire(RedisCommand("EVALSHA", tail: tail)) == "$7\r\nEVALSHA\r\n$1\r\n2\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nx\r\n"
        )
        #expect(RedisCommand("EVALSHA", tail: tail).arguments.count == 5)
    }
}
