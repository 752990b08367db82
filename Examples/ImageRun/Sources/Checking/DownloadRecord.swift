import Foundation

/// The part of `sluice show ID -o json` about a download that the check needs.
struct DownloadRecord: Decodable, Hashable {
    struct Arguments: Decodable, Hashable {
        var url: String?
    }

    struct Result: Decodable, Hashable {
        var bytes: Int?
        var sha256: String?
        var path: String?
    }

    let id: String
    let name: String
    let state: String
    let attempt: Int?
    let arguments: Arguments?
    let result: Result?

    private enum Key: String, CodingKey {
        case id, name, state, attempt, arguments, result
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        id = try values.decode(String.self, forKey: .id)
        name = try values.decode(String.self, forKey: .name)
        state = try values.decode(String.self, forKey: .state)
        attempt = try values.decodeIfPresent(Int.self, forKey: .attempt)
        // Other operations have other arguments and results.
        arguments = try? values.decodeIfPresent(Arguments.self, forKey: .arguments)
        result = try? values.decodeIfPresent(Result.self, forKey: .result)
    }

    /// The name of the requested file: the last component of the URL's path.
    var fileName: String? {
        guard let name = arguments?.url.flatMap(URL.init(string:))?.lastPathComponent, !name.isEmpty, name != "/" else {
            return nil
        }
        return name
    }
}
