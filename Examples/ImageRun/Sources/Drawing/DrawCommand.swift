import ExampleBasics
import Foundation

/// `image-run draw`: fills a directory with PNG files, which are equal for equal seeds.
struct DrawCommand {
    static let smallestBytes = 1_500
    static let fewestFiles = 40

    let directory: URL
    let seed: UInt64
    let count: Int
    let largestBytes: Int

    init(_ arguments: [String]) throws {
        let flags = try Flags(arguments, words: ["DIR"], flags: ["--seed", "--count", "--largest"])
        directory = URL(fileURLWithPath: flags[0], isDirectory: true)
        seed = try flags.number("--seed", default: 1, in: 0...UInt64.max)
        count = try flags.number("--count", default: 40, in: Self.fewestFiles...9_999)
        largestBytes = try flags.number("--largest", default: 5_000_000, in: Self.smallestBytes...5_000_000)
    }

    func run() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var total = 0
        for number in 1...count {
            let file = image(number).encoded()
            try Data(file).write(to: directory.appendingPathComponent(Self.name(number)))
            total += file.count
        }
        print("\(count) images, \(total) bytes, seed \(seed)")
    }

    static func name(_ number: Int) -> String {
        let digits = String(number)
        return "image-" + String(repeating: "0", count: max(0, 3 - digits.count)) + digits + ".png"
    }

    /// Draws one image, from the seed and its number alone.
    ///
    /// Most images are small and a few are large. The factor is a prime above every count, so that small and large ones
    /// mix.
    func image(_ number: Int) -> PNG {
        let step = Double(number * 10_007 % count) / Double(count - 1)
        let share = step * step * step * step * step
        let fileBytes = Self.smallestBytes + Int(Double(largestBytes - Self.smallestBytes) * share)
        let motif = Painter.Motif.allCases[number % Painter.Motif.allCases.count]
        var painter = Painter(generator: SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(number)))
        return painter.paint(motif, fileBytes: fileBytes)
    }
}
