import Foundation

/// Writes files that are complete or do not exist.
public enum WholeFile {
    /// Writes a temporary file beside the target and renames it.
    ///
    /// Links are followed. An existing target that is no regular file, such as a device, is refused, because a rename
    /// would replace it.
    public static func write(_ data: Data, to url: URL) throws {
        let place = url.resolvingSymlinksInPath()
        let manager = FileManager.default
        let known = try? manager.attributesOfItem(atPath: place.path)
        if let kind = known?[.type] as? FileAttributeType, kind != .typeRegular {
            throw NotAFile(description: "\(url.path) is no regular file")
        }
        try data.write(to: place, options: .atomic)
        if let mode = known?[.posixPermissions] {
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: place.path)
        }
    }

    /// The target exists, is no regular file, and must not be replaced.
    struct NotAFile: Error, CustomStringConvertible {
        let description: String
    }
}
