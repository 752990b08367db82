import Foundation

/// Files that are there as a whole or not at all.
package enum WholeFile {
    /// Writes beside the file and renames. Links are followed; what is there and no regular file, a device for example, is refused, because
    /// a rename would replace it.
    package static func write(_ data: Data, to url: URL) throws {
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

    /// What is there must not be replaced.
    struct NotAFile: Error, CustomStringConvertible {
        let description: String
    }
}
