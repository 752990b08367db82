import Foundation

/// A quality of service in one byte; `inherited` = the queue's.
enum Quality: UInt8, Sendable {
    case inherited, standard, background, utility, userInitiated, userInteractive

    init(_ quality: QualityOfService?) {
        switch quality {
        case nil: self = .inherited
        case .background: self = .background
        case .utility: self = .utility
        case .userInitiated: self = .userInitiated
        case .userInteractive: self = .userInteractive
        default: self = .standard
        }
    }

    var qualityOfService: QualityOfService? {
        switch self {
        case .inherited: nil
        case .standard: .default
        case .background: .background
        case .utility: .utility
        case .userInitiated: .userInitiated
        case .userInteractive: .userInteractive
        }
    }

    /// The task priority. Swift's tasks have no level above `userInitiated`.
    var taskPriority: TaskPriority {
        switch self {
        case .inherited, .standard: .medium
        case .background: .background
        case .utility: .utility
        case .userInitiated, .userInteractive: .userInitiated
        }
    }
}
