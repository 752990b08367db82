import Testing

@testable import TerminalText

@Suite("Durations", .timeLimit(.minutes(60)))
struct DurationTextTests {
    @Test(
        "Durations are parsed exactly",
        arguments: [
            ("500ms", .milliseconds(500)), ("30s", .seconds(30)), ("10m", .seconds(600)), ("2h", .seconds(7_200)),
            ("7d", .seconds(604_800)), ("1h30m", .seconds(5_400)), ("1.5h", .seconds(5_400)),
            ("0.1s", .milliseconds(100)), ("1d2h3m4s5ms", .milliseconds(93_784_005)), ("0s", .zero),
        ] as [(String, Duration)]
    )
    func parse(text: String, duration: Duration) throws {
        #expect(try DurationText.parse(text) == duration)
    }

    @Test(
        "An invalid duration is refused with the reason",
        arguments: [
            ("", "\"\" is not a duration: write a number and a unit: 500ms, 30s, 10m, 2h, 7d"),
            ("30", "\"30\" is not a duration: a unit is missing: 30s, 30m or 30h?"),
            ("5 m", "\"5 m\" is not a duration: a unit is missing: 5s, 5m or 5h?"),
            ("-5s", "\"-5s\" is not a duration: write a number and a unit: 500ms, 30s, 10m, 2h, 7d"),
            ("5w", "\"5w\" is not a duration: \"w\" is not a unit; units are ms, s, m, h, d"),
            ("5S", "\"5S\" is not a duration: \"S\" is not a unit; units are ms, s, m, h, d"),
            ("30m1h", "\"30m1h\" is not a duration: units go from large to small, each once (1h30m)"),
            ("1s1s", "\"1s1s\" is not a duration: units go from large to small, each once (1h30m)"),
            ("1..5s", "\"1..5s\" is not a duration: \"1..5\" is not a number, or is too large"),
            (
                "99999999999999999999s",
                "\"99999999999999999999s\" is not a duration: \"99999999999999999999\" is not a number, or is too large"
            ),
            ("36500d1s", "\"36500d1s\" is not a duration: it is longer than 100 years"),
            ("\u{1B}[1m", "\"\\x1b[1m\" is not a duration: write a number and a unit: 500ms, 30s, 10m, 2h, 7d"),
        ]
    )
    func refuse(text: String, message: String) {
        let error = #expect(throws: TextError.self) { try DurationText.parse(text) }
        #expect(error?.message == message)
    }

    @Test(
        "Durations are written in at most two units",
        arguments: [
            (0, "0s", "0s"), (12, "12s", "12s"), (120, "2m", "2m"), (161, "2m41s", "2m"), (3_600, "1h", "1h"),
            (7_261, "2h1m", "2h"), (273_600, "3d4h", "3d"), (86_400 * 365 * 5, "1825d", "5y"), (-3, "0s", "0s"),
        ]
    )
    func write(seconds: Int, short: String, coarse: String) {
        #expect(DurationText.short(.seconds(seconds)) == short)
        #expect(DurationText.coarse(.seconds(seconds)) == coarse)
    }

    @Test("Settings are written in a form that parses to the same duration")
    func exact() throws {
        #expect(DurationText.exact(.milliseconds(250)) == "250ms")
        #expect(DurationText.exact(.milliseconds(1500)) == "1s500ms")
        #expect(DurationText.exact(.seconds(90 * 86_400)) == "90d")
        #expect(DurationText.exact(.seconds(-1)) == "0s")
        for milliseconds in [0, 1, 999, 60_000, 93_784_005] {
            let duration = Duration.milliseconds(milliseconds)
            #expect(try DurationText.parse(DurationText.exact(duration)) == duration)
        }
    }

    @Test("Measured times show tenths if they are short")
    func precise() {
        #expect(DurationText.precise(.microseconds(20)) == "1ms")
        #expect(DurationText.precise(.milliseconds(23)) == "23ms")
        #expect(DurationText.precise(.milliseconds(640)) == "0.6s")
        #expect(DurationText.precise(.milliseconds(4_190)) == "4.1s")
        #expect(DurationText.precise(.seconds(14)) == "14s")
        #expect(DurationText.precise(.zero) == "0s")
        #expect(DurationText.precise(.milliseconds(-5)) == "0s")
    }
}

@Suite("Times", .timeLimit(.minutes(60)))
struct TimeTextTests {
    @Test(
        "A time survives a round trip through RFC 3339",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_767_349_865_678, "2026-01-02T10:31:05.678Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        ] as [(Int64, String)]
    )
    func roundTrip(milliseconds: Int64, text: String) throws {
        #expect(TimeText.rfc3339(milliseconds) == text)
        #expect(try TimeText.parse(text) == milliseconds)
    }

    @Test("Zones, decimals, small letters and a space are parsed")
    func variants() throws {
        for text in [
            "2026-01-31T18:30:00.5+01:00", "2026-01-31t17:30:00.500z", "2026-01-31 17:30:00.5009Z",
            "2026-01-31T12:00:00.5-05:30",
        ] {
            #expect(try TimeText.rfc3339(TimeText.parse(text)) == "2026-01-31T17:30:00.500Z")
        }
    }

    @Test(
        "An invalid time is refused",
        arguments: [
            "", "now", "2026-01-31", "2026-01-31T17:30:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
            "2026-01-31T24:00:00Z", "2026-01-31T17:60:00Z", "2026-01-31T17:30:00.Z", "2026-1-31T17:30:00Z",
            "2026-01-31T17:30:00+1:00", "2026-01-31T17:30:00Zjunk", "+026-01-31T17:30:00Z", "２026-01-31T17:30:00Z",
        ]
    )
    func refuse(text: String) {
        let error = #expect(throws: TextError.self) { try TimeText.parse(text) }
        #expect(error?.message.hasPrefix("\"\(text)\" is not a time; write date, time and zone") == true)
    }

    @Test("Times are shown relative to now")
    func relative() {
        #expect(TimeText.relative(0, now: 120_000) == "2m ago")
        #expect(TimeText.relative(34_000, now: 0) == "in 34s")
        #expect(TimeText.relative(17_999_000, now: 0) == "in 4h59m")
        #expect(TimeText.relative(999, now: 0) == "now")
        #expect(TimeText.format(-1, .unix, now: 0) == "-1.999")
        #expect(TimeText.format(1_500, .unix, now: 0) == "1.500")
        #expect(TimeText.clock(43_471_204) == "12:04:31")
        #expect(TimeText.clock(43_471_204, fraction: true) == "12:04:31.204")
        #expect(TimeText.clock(43_471_204, now: 86_399_999) == "12:04:31" && TimeText.clock(0, now: nil) == "00:00:00")
        #expect(TimeText.clock(43_471_204, fraction: true, now: 86_400_000) == "01-01 12:04:31.204")
    }
}

@Suite("Quantities", .timeLimit(.minutes(60)))
struct QuantityTextTests {
    @Test("Counts are grouped, and shortened from a million on")
    func counts() {
        #expect(
            [0, 12, 1_204, 88_120, 999_999, 1_000_000, 1_249_000, 12_000_000].map { QuantityText.count($0) }
                == ["0", "12", "1,204", "88,120", "999,999", "1.0M", "1.2M", "12M"]
        )
        #expect(QuantityText.grouped(-1_204_567) == "-1,204,567")
        #expect(QuantityText.grouped(UInt64.max) == "18,446,744,073,709,551,615")
        #expect(QuantityText.count(Int64.min) == "-9223Q")
    }

    @Test("Sizes go in steps of 1,024 and never show four digits before the unit's end")
    func bytes() {
        #expect(
            [0, 112, 1_023, 1_024, 10_239, 1_048_575, 220_200_960, 1_181_116_006].map { QuantityText.bytes($0) }
                == ["0B", "112B", "1023B", "1.0K", "10K", "1.0M", "210M", "1.1G"]
        )
        #expect(QuantityText.bytes(Int64.max) == "8.0E")
    }

    @Test("Rates are short, and unknown rates differ from zero")
    func rates() {
        #expect(
            [0, 0.04, 0.4, 2, 9.96, 212.4, 1_204, 1e30].map { QuantityText.rate($0) }
                == ["0", "0", "0.4", "2", "10", "212", "1,204", "1000Q"]
        )
        #expect(QuantityText.rate(nil) == "–")
        #expect(QuantityText.rate(.nan) == "–")
    }

    @Test("A bar and a percentage are full only at the end, and bounded for any value")
    func bars() {
        #expect(QuantityText.bar(0.68) == "██████░░░░")
        #expect(QuantityText.bar(0.7) == "███████░░░")
        #expect(QuantityText.bar(0.999, width: 4, ascii: true) == "###-")
        #expect(QuantityText.bar(1, width: 4) == "████")
        #expect(QuantityText.bar(.nan, width: 2) == "░░")
        #expect(QuantityText.bar(7, width: -1).isEmpty)
        #expect(
            [-1, 0, 0.68, 0.9999, 1, 2, .infinity, .nan].map { QuantityText.percent($0) }
                == ["0%", "0%", "68%", "99%", "100%", "100%", "100%", "0%"]
        )
    }
}

@Suite(.timeLimit(.minutes(60)))
struct SizeTextTests {
    @Test(
        "Sizes are read in steps of 1,024",
        arguments: [
            ("500M", 500 << 20), ("2G", 2 << 30), ("1.5G", 3 << 29), ("512k", 512 << 10), ("64MiB", 64 << 20),
            ("64MB", 64 << 20), ("65536", 65_536), ("0", 0),
        ] as [(String, Int64)]
    )
    func read(text: String, bytes: Int64) throws {
        #expect(try SizeText.parse(text) == bytes)
    }

    @Test(
        "An invalid size is refused with a valid example",
        arguments: ["", "M", "5 M", "-1M", "5X", "5MM", "1..5M", "9999999T", "5.", ".5M"]
    )
    func refuse(text: String) {
        let error = #expect(throws: TextError.self) { try SizeText.parse(text) }
        #expect(error?.message.contains("500M") == true)
    }
}
