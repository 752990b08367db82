/// How a dependency of an operation ended, and its result.
package struct DependencyInput: Sendable, Equatable {
    package var name: DependencyName
    /// The state in which the dependency ended; nil = it was removed, or has not ended.
    package var state: OperationState?
    /// The result as JSON, empty for `Void`; nil = no result is stored.
    package var result: [UInt8]?

    package init(name: DependencyName, state: OperationState?, result: [UInt8]?) {
        (self.name, self.state, self.result) = (name, state, result)
    }

    /// The most bytes of a result that is copied for the dependent. A longer one is read from the dependency.
    package static let shortResultBytes = 4096
    /// The most bytes of results that are copied for one operation.
    package static let keptBytes = 65_536
}
