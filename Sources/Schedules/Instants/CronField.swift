import Operations

/// One field of a cron expression.
struct CronField {
    let name: String
    let range: ClosedRange<Int>
    /// The names of the values, from `range.lowerBound` on.
    var words: [String] = []

    static let second = CronField(name: "second", range: 0...59)
    static let minute = CronField(name: "minute", range: 0...59)
    static let hour = CronField(name: "hour", range: 0...23)
    static let dayOfMonth = CronField(name: "day of the month", range: 1...31)
    static let month = CronField(
        name: "month",
        range: 1...12,
        words: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
    )
    /// Both 0 and 7 are Sunday.
    static let dayOfWeek = CronField(
        name: "day of the week",
        range: 0...7,
        words: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
    )

    /// The values of a text like `1,5-20/3,*/10`, one bit each.
    func values(_ text: Substring) throws(OperationsError) -> UInt64 {
        var values: UInt64 = 0
        for part in text.split(separator: ",", omittingEmptySubsequences: false) { values |= try bits(of: part) }
        return values
    }

    private func bits(of part: Substring) throws(OperationsError) -> UInt64 {
        let halves = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let (from, to) = try bounds(halves[0], hasStep: halves.count == 2)
        var step = 1
        if halves.count == 2 {
            guard let number = Int(halves[1]), number >= 1, number <= range.upperBound else {
                throw error("the step \"\(halves[1])\" of the \(name)", "a number from 1 to \(range.upperBound)")
            }
            step = number
        }
        return stride(from: from, through: to, by: step).reduce(0) { $0 | 1 << UInt64($1) }
    }

    private func bounds(_ text: Substring, hasStep: Bool) throws(OperationsError) -> (Int, Int) {
        let top = words.count == 7 ? 6 : range.upperBound
        if text == "*" || text == "?" { return (range.lowerBound, top) }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let from = try value(ends[0])
        guard ends.count == 2 else { return (from, hasStep ? max(top, from) : from) }
        var to = try value(ends[1])
        // FRI-SUN
        if words.count == 7, to == 0, from > 0 { to = 7 }
        guard from <= to else {
            throw error("the \(name) \"\(text)\" runs backwards", "the smaller value first, or two ranges: 22-23,0-6")
        }
        return (from, to)
    }

    private func value(_ text: Substring) throws(OperationsError) -> Int {
        if let index = words.firstIndex(of: text.uppercased()) { return words.count == 7 ? index : index + 1 }
        guard let number = Int(text), range.contains(number), text.allSatisfy(\.isNumber) else {
            let named = words.first.map { " or \($0) to \(words.last ?? $0)" } ?? ""
            throw error(
                "the \(name) is \(OperationsError.quoted(String(text)))",
                "\(range.lowerBound) to \(range.upperBound)\(named), *, a list 1,5, a range 1-5 or a step */5"
            )
        }
        return number
    }

    private func error(_ what: String, _ expected: String) -> OperationsError {
        OperationsError(.invalidOption, "\(what); expected \(expected)")
    }
}
