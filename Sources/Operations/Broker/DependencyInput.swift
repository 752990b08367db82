/// How a dependency of an operation ended, and its result.
package struct DependencyInput: Sendable, Equatable {
    package var name: DependencyName
    /// nil = it was removed, or has not ended.
    package var state: OperationState?
    /// JSON, empty for `Void`; nil = there is none, or it is kept no more.
    package var result: [UInt8]?

    package init(name: DependencyName, state: OperationState?, result: [UInt8]?) {
        (self.name, self.state, self.result) = (name, state, result)
    }

    /// A longer result is read where it stands.
    package static let shortResultBytes = 4096
    /// Of short results, so many bytes are kept for one operation.
    package static let keptBytes = 65_536
}
