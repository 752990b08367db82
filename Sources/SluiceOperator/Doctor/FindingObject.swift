import Operations

extension Diagnosis {
    /// An object that a finding is about, for programs that link it.
    package enum Object: Sendable, Equatable {
        case queue(String)
        case operation(OperationAddress)
        /// The operations of a queue in a state, or with a name.
        case operations(queue: String, state: OperationState? = nil, name: String? = nil)
        case worker(Remedy.LabeledWorker)
        /// The operations that a worker holds.
        case held(by: Remedy.LabeledWorker)
        case schedule(String, queue: String)
        case change(OperationID)
    }

    /// Returns the finding with its objects and with a remedy, whose command is the fix unless the finding has
    /// another one.
    package func about(_ objects: Object..., remedy: Remedy? = nil, weight: Int? = nil) -> Diagnosis {
        var diagnosis = self
        diagnosis.objects = objects
        diagnosis.remedy = remedy
        diagnosis.fix = fix ?? remedy?.command
        diagnosis.weight = weight ?? self.weight
        return diagnosis
    }
}

extension Diagnosis.Object {
    /// The object of a script's finding: its subject is an operation, a worker, a key or a field.
    init(_ finding: AuditFinding) {
        guard let id = OperationID(finding.subject) else {
            self = .queue(finding.queue)
            return
        }
        switch finding.code {
        case "noLease": self = .worker(Remedy.LabeledWorker(id: finding.subject))
        // These operations have no record, so they have no page.
        case "noRecord", "missing", "leftover", "malformed": self = .queue(finding.queue)
        default: self = .operation(OperationAddress(queue: finding.queue, id: id))
        }
    }
}

extension Remedy.LabeledWorker {
    init(id: String, info: WorkerInfo? = nil) { self.init(id: id, label: WorkerSummary.label(info, id: id)) }
}
