import Operations
import Sluice
import SluiceOperator

extension Locator {
    /// Finds the references and reads their details.
    ///
    /// - Throws: one error for all references without an operation.
    package func details(_ references: [IDReference]) async throws -> [OperationDetail] {
        let findings = try await find(references)
        var outcomes: [OperationOutcome] = []
        var details: [OperationDetail] = []
        for (reference, finding) in zip(references, findings) {
            if case .found(let location) = finding,
                let detail = try await client.broker.details([location.id], queue: location.queue).first.flatMap({ $0 })
            {
                details.append(detail)
                outcomes.append(OperationOutcome(location, "", "found"))
            } else {
                let missing = finding.isFound ? Finding.notFound : finding
                if let outcome = OperationOutcome(missing, of: reference) { outcomes.append(outcome) }
            }
        }
        if let error = OutcomeSummary(outcomes).error(participle: "found", namespace: client.namespace) { throw error }
        return details
    }
}

extension Locator.Finding {
    package var isFound: Bool {
        if case .found = self { true } else { false }
    }
}
