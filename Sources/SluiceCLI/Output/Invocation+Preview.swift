import Operations
import SluiceOperator
import TerminalText

extension Invocation {
    /// Prints the effect of a change that was only previewed.
    func print(_ preview: ChangePreview) {
        console.clearStatus()
        switch format {
        case .json, .jsonl: console.print(preview.json(view), format)
        case .id: console.print(preview.sample.map(\.id.description))
        case .csv: console.print(OperationTable(preview.sample, self).csv)
        case .table, .wide:
            if !preview.sample.isEmpty {
                console.print(OperationTable(preview.sample, self).table, format, showsHeader: options.showsHeader)
            }
        }
        console.note(preview.sentence)
    }
}
