import Operations
import Selectors
import SluiceOperator

package typealias IDReference = Selectors.IDReference
package typealias Location = OperationAddress

extension IDReference {
    /// Parses an id, a part of an id, or the text of an `--id`.
    ///
    /// - Throws: `CLIError` with `.usage` if the text is empty.
    package init(parsing text: String) throws(CLIError) {
        guard let reference = IDReference(text) else {
            throw .usage(
                "an operation id is empty",
                fix: "give an id, its last 6 or more characters, the text of an --id, or QUEUE/ID (sluice list -o id)"
            )
        }
        self = reference
    }
}
