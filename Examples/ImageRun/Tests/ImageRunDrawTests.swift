import Foundation
import TestTools
import Testing

@testable import image_run

@Suite("image-run draw", .timeLimit(.minutes(60)))
struct ImageRunDrawTests {
    @Test("Every drawn file is a valid PNG within the size limits, and dimensions and colour types vary")
    func validFiles() throws {
        let draw = try DrawCommand(["unused", "--seed", "7", "--largest", "60000"])
        let images = (1...draw.count).map(draw.image)
        for image in images {
            let file = image.encoded()
            let read = try PNGReader(file)
            #expect((read.width, read.height) == (image.width, image.height))
            #expect(read.channels == image.colorType.channels)
            #expect((1_024...60_000).contains(file.count))
        }
        #expect(Set(images.map(\.colorType)).count == 3)
        #expect(Set(images.map(\.width)).count > 20)
        #expect(Set(images).count == images.count)
    }

    @Test("The largest file is close to five million bytes and still valid")
    func largestFile() throws {
        let draw = try DrawCommand(["unused"])
        let largest = (1...draw.count).max { $0 * 10_007 % draw.count < $1 * 10_007 % draw.count }
        let file = draw.image(try #require(largest)).encoded()
        #expect((4_900_000...5_000_000).contains(file.count))
        #expect(try PNGReader(file).chunkTypes == ["IHDR", "IDAT", "IEND"])
    }

    @Test("The reader of these tests finds a flipped bit anywhere")
    func readerFindsFlaws() throws {
        let file = PNG(width: 3, height: 2, colorType: .rgb, pixels: Array(1...18)).encoded()
        _ = try PNGReader(file)
        for position in file.indices {
            var damaged = file
            damaged[position] ^= 0x10
            #expect(throws: PNGReader.Flaw.self, "byte \(position)") { try PNGReader(damaged) }
        }
    }

    @Test("Checksums agree with their published values")
    func checksums() {
        #expect(Checksum.crc32(Array("123456789".utf8)) == 0xCBF4_3926)
        #expect(Checksum.adler32(Array("Wikipedia".utf8)) == 0x11E6_0398)
        #expect(Checksum.adler32([UInt8](repeating: 0xFF, count: 1_000_000)) == 0x3843_E1BE)
    }

    @Test("The same seed draws the same files, another seed others")
    func deterministic() async throws {
        let directory = try TemporaryDirectory()
        for (name, seed) in [("a", "1"), ("b", "1"), ("c", "2")] {
            let outcome = try await Program.run(
                "image-run",
                ["draw", directory.path(name), "--seed", seed, "--largest", "4000"]
            )
            #expect(outcome.code == 0)
            #expect(outcome.output.hasPrefix("40 images, "))
        }
        let manager = FileManager.default
        let names = try manager.contentsOfDirectory(atPath: directory.path("a"))
        #expect(names.count == 40)
        for name in names {
            #expect(manager.contentsEqual(atPath: directory.path("a/\(name)"), andPath: directory.path("b/\(name)")))
            #expect(!manager.contentsEqual(atPath: directory.path("a/\(name)"), andPath: directory.path("c/\(name)")))
        }
    }

    @Test(
        "Wrong arguments end with code 64, the reason and the usage",
        arguments: [
            ([], "a command is missing"), (["paint"], "unknown command \"paint\""), (["draw"], "DIR is missing"),
            (["draw", "a", "b"], "unexpected argument \"b\""), (["draw", "a", "--sed", "1"], "unknown flag --sed"),
            (["draw", "a", "--seed"], "--seed needs a value"),
            (["draw", "a", "--seed", "1", "--seed", "2"], "--seed is given twice"),
            (["draw", "a", "--count", "39"], "--count is \"39\", expected a number from 40 to 9999"),
            (["serve", "a", "--ready", "r"], "--log is missing"),
            (["check", "--expect", "x"], "--source is missing"),
        ]
    )
    func usage(arguments: [String], reason: String) async throws {
        let outcome = try await Program.run("image-run", arguments)
        #expect(outcome.code == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("error: \(reason)\nusage: image-run draw"))
    }
}
