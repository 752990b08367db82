import Testing

@testable import WorkerRuntime

@Suite("An idle worker", .timeLimit(.minutes(60)))
struct IdleWatchTests {
    @Test("The first heartbeat after an idle period reports idle once, and again after more work")
    func once() {
        var watch = IdleWatch()
        let start = ContinuousClock.now
        let beats: [(second: Int, ended: Int64, busy: Int, isIdle: Bool)] = [
            (0, 0, 0, false), (1, 0, 0, false), (5, 0, 0, true), (10, 0, 0, false), (15, 0, 2, false),
            (20, 2, 0, false), (25, 2, 0, true), (30, 2, 0, false), (35, 3, 0, false), (39, 3, 0, false),
            (40, 3, 1, false), (45, 3, 0, false), (50, 3, 0, true),
        ]
        for beat in beats {
            let now = start + .seconds(beat.second)
            let isIdle = watch.hasBecomeIdle(ended: beat.ended, busy: beat.busy, at: now, after: .seconds(5))
            #expect(isIdle == beat.isIdle, "second \(beat.second)")
        }
    }

    @Test("Only executable mappings of files that are not writable count as code")
    func code() {
        let lines: [(String, Range<UInt>?)] = [
            ("7f00-8f00 r-xp 00001000 fe:00 77   /usr/lib/libc.so.6\n", 0x7f00..<0x8f00),
            ("7f00-8f00 r-xp 00001000 fe:00 77   /tmp/a program (deleted)\n", 0x7f00..<0x8f00),
            ("7f00-8f00 rwxp 00001000 fe:00 77   /usr/lib/libc.so.6\n", nil),
            ("7f00-8f00 r--p 00001000 fe:00 77   /usr/lib/libc.so.6\n", nil),
            ("7f00-8f00 r-xp 00000000 00:00 0    [vdso]\n", nil), ("7f00-8f00 r-xp 00000000 00:00 0\n", nil),
            ("8f00-7f00 r-xp 00001000 fe:00 77   /usr/lib/libc.so.6\n", nil), ("", nil),
        ]
        for (line, range) in lines { #expect(ProgramPages.codeOfFile(line) == range, "\(line)") }
    }
}
