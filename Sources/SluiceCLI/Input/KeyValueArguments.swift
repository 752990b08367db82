import Foundation
import Operations

/// Parses the typed arguments of an operation: `k=text`, `k:=json`, `k=@file` (the file's text), `k:=@file` (the file's
/// JSON).
package enum KeyValueArguments {
    /// Makes a JSON object from words, in their order.
    ///
    /// - Parameters:
    ///   - words: `k=v` and its variants.
    ///   - read: reads the file that a value names.
    /// - Throws: `CLIError` with `.usage`, which names the word.
    package static func object(
        from words: [String],
        reading read: (String) throws(CLIError) -> [UInt8] = InputFile.read
    ) throws(CLIError) -> JSONValue {
        var object = JSONObject()
        for word in words {
            let (key, value) = try member(word, reading: read)
            guard object[key] == nil else {
                throw .usage("the argument \"\(key)\" is given twice", fix: "drop one of them")
            }
            object[key] = value
        }
        return .object(object)
    }

    private static func member(
        _ word: String,
        reading read: (String) throws(CLIError) -> [UInt8]
    ) throws(CLIError) -> (String, JSONValue) {
        let shown = URLPasswords.masked(word)
        guard let equals = word.firstIndex(of: "=") else {
            throw .usage(
                "\"\(shown)\" is not an argument: it has no \"=\"",
                fix: "\(shown)=TEXT, or \(shown):=JSON for numbers, lists and objects; write a program after --"
            )
        }
        var key = word[..<equals]
        let isJSON = key.last == ":"
        if isJSON { key.removeLast() }
        guard !key.isEmpty else { throw .usage("\"\(shown)\" has no name before the \"=\"", fix: "NAME\(shown)") }
        let text = word[word.index(after: equals)...]
        let bytes = text.hasPrefix("@") ? try read(String(text.dropFirst())) : Array(text.utf8)
        return (String(key), isJSON ? try json(bytes, of: shown) : try string(bytes, of: shown))
    }

    private static func json(_ bytes: [UInt8], of word: String) throws(CLIError) -> JSONValue {
        do { return try JSONValue(parsing: bytes.withoutByteOrderMark) } catch {
            throw .usage(
                "\"\(word)\" is not JSON: \(error)",
                fix: "for a text, write = instead of :=, or quotes: 'k:=\"text\"'"
            )
        }
    }

    private static func string(_ bytes: [UInt8], of word: String) throws(CLIError) -> JSONValue {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .usage("the value of \"\(word)\" is not UTF-8", fix: "encode it, for example as base64")
        }
        return .string(text)
    }
}

extension [UInt8] {
    /// The bytes without a UTF-8 byte order mark, which JSON does not allow.
    var withoutByteOrderMark: ArraySlice<UInt8> { starts(with: [0xEF, 0xBB, 0xBF]) ? self[3...] : self[...] }
}

/// Reads the files that arguments name.
package enum InputFile {
    /// Reads a file, or stdin for `-`, up to the size limit of an operation.
    package static func read(_ path: String) throws(CLIError) -> [UInt8] {
        try read(path, limit: SluiceDefaults.operationBytes)
    }

    /// Reads a file, or stdin for `-`, up to a limit in bytes.
    ///
    /// - Throws: `.usage` if the file is longer or cannot be read.
    package static func read(_ path: String, limit: Int) throws(CLIError) -> [UInt8] {
        let handle = try open(path)
        defer { if path != "-" { try? handle.close() } }
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            guard let more = try next(of: handle, path) else { return bytes }
            bytes += more
        }
        throw .usage(
            "\(name(path)) is larger than the limit of \(limit >> 20) MiB",
            fix: "store the data elsewhere and pass its address"
        )
    }

    /// The next bytes of an open file; nil = the end.
    static func next(of handle: FileHandle, _ path: String, upTo count: Int = 1 << 16) throws(CLIError) -> Data? {
        do {
            guard let more = try handle.read(upToCount: count), !more.isEmpty else { return nil }
            return more
        } catch { throw unreadable(path, error) }
    }

    package static func open(_ path: String) throws(CLIError) -> FileHandle {
        if path == "-" { return .standardInput }
        do { return try FileHandle(forReadingFrom: URL(fileURLWithPath: path)) } catch { throw unreadable(path, error) }
    }

    package static func name(_ path: String) -> String { path == "-" ? "stdin" : path }

    private static func unreadable(_ path: String, _ error: any Error) -> CLIError {
        let reason = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError) ?? (error as NSError)
        return .usage(
            "cannot read \(name(path)): \(reason.localizedDescription)",
            fix: "name a file that exists and that you can read, or - for stdin"
        )
    }
}
