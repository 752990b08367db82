import Crypto
import Foundation

/// `image-run check`: prints the closing table of a run, and fails if anything differs.
struct CheckCommand {
    let source: URL
    let target: URL
    let log: URL
    let results: URL
    let inFlightLimit: Int
    let expected: [String: Int]

    init(_ arguments: [String]) throws {
        let flags = try Flags(
            arguments,
            flags: ["--source", "--target", "--log", "--results", "--max-in-flight", "--expect"]
        )
        source = URL(fileURLWithPath: try flags.required("--source"), isDirectory: true)
        target = URL(fileURLWithPath: try flags.required("--target"), isDirectory: true)
        log = URL(fileURLWithPath: try flags.required("--log"))
        results = URL(fileURLWithPath: try flags.required("--results"))
        inFlightLimit = try flags.number("--max-in-flight", in: 1...10_000)
        expected = try Self.parse(expectation: flags["--expect"] ?? "")
    }

    static func parse(expectation text: String) throws(ImageRunError) -> [String: Int] {
        var expected: [String: Int] = [:]
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            guard pair.count == 2, ["finished", "retried", "dead", "cancelled", "expired"].contains(pair[0]),
                let number = Int(pair[1]), number >= 0
            else { throw ImageRunError(.usage, "--expect has \"\(part)\", expected for example finished=40") }
            expected[String(pair[0])] = number
        }
        return expected
    }

    func run() throws {
        let audit = Audit(
            source: try Self.files(in: source),
            target: try Self.files(in: target),
            records: try Self.lines(of: results),
            log: try Self.lines(of: log),
            inFlightLimit: inFlightLimit,
            expected: expected
        )
        print(audit.table(inFlightLimit: inFlightLimit))
        guard audit.differences.isEmpty else {
            throw ImageRunError(.different, "not as it should be:\n  " + audit.differences.joined(separator: "\n  "))
        }
    }

    /// Reads every file of a directory. Hidden files count, so that a temporary file left behind is found.
    private static func files(in directory: URL) throws -> [String: Audit.File] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path) else {
            throw ImageRunError(.file, "there is no directory \(directory.path)")
        }
        var files: [String: Audit.File] = [:]
        for name in names {
            let data = try Data(contentsOf: directory.appendingPathComponent(name))
            let digest = SHA256.hash(data: data).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            files[name] = Audit.File(bytes: data.count, sha256: digest)
        }
        return files
    }

    private static func lines<Line: Decodable>(of file: URL) throws -> [Line] {
        guard let data = try? Data(contentsOf: file) else { throw ImageRunError(.file, "cannot read \(file.path)") }
        return try data.split(separator: UInt8(ascii: "\n")).enumerated().map { number, line in
            do {
                return try JSONDecoder().decode(Line.self, from: Data(line))
            } catch {
                throw ImageRunError(.file, "\(file.path):\(number + 1): \(error)")
            }
        }
    }
}
