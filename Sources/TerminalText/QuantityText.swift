/// Counts, sizes, rates and shares as text.
package enum QuantityText {
    /// A count with separators: `1,204`.
    package static func grouped(_ count: some BinaryInteger) -> String {
        let digits = String(count.magnitude)
        var text = count < 0 ? "-" : ""
        for (position, digit) in digits.enumerated() {
            if position > 0 && (digits.count - position).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// The number of times: `once`, `3 times`.
    package static func times(_ count: some BinaryInteger) -> String {
        count == 1 ? "once" : "\(grouped(count)) times"
    }

    /// A number of operations: `1 operation`, `1,204 operations`.
    package static func operations(_ count: some BinaryInteger) -> String {
        "\(grouped(count)) operation\(count == 1 ? "" : "s")"
    }

    /// The beginning of a sentence about operations: `1 operation is`, `1,204 operations are`.
    package static func operationsAre(_ count: some BinaryInteger) -> String {
        operations(count) + (count == 1 ? " is" : " are")
    }

    /// A count in at most seven cells: `1,204`, `88,120`, `1.2M`.
    package static func count(_ count: some BinaryInteger) -> String {
        count.magnitude < 1_000_000
            ? grouped(count) : scaled(Double(count), base: 1_000, units: ["", "K", "M", "B", "T", "Q"])
    }

    /// A size in bytes, in steps of 1,024: `112B`, `1.2K`, `210M`.
    package static func bytes(_ count: some BinaryInteger) -> String {
        scaled(Double(count), base: 1_024, units: ["B", "K", "M", "G", "T", "P", "E"])
    }

    /// A rate without its unit: `0`, `0.4`, `212`, `1,204`; `–` for an unknown rate.
    package static func rate(_ perSecond: Double?) -> String {
        guard let perSecond, perSecond.isFinite, perSecond >= 0 else { return "–" }
        let rounded = (perSecond * 10).rounded() / 10
        if rounded >= 10 { return count(Int64(min(perSecond, 1e18).rounded())) }
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }

    /// A share in percent, rounded down, so that 100% means done: `68%`.
    package static func percent(_ fraction: Double) -> String { "\(Int(clamped(fraction) * 100))%" }

    /// A progress bar with a width in cells: `███████░░░`, in ASCII `#######---`. Full only when done.
    package static func bar(_ fraction: Double, width: Int = 10, ascii: Bool = false) -> String {
        let filled = Int(clamped(fraction) * Double(max(0, width)))
        return String(repeating: ascii ? "#" : "█", count: filled)
            + String(repeating: ascii ? "-" : "░", count: max(0, width) - filled)
    }

    private static func clamped(_ fraction: Double) -> Double { fraction.isNaN ? 0 : min(max(fraction, 0), 1) }

    /// One decimal below ten, otherwise none. The first unit is always whole.
    private static func scaled(_ value: Double, base: Double, units: [String]) -> String {
        var value = value
        var unit = 0
        while abs(value).rounded() >= base && unit < units.count - 1 {
            value /= base
            unit += 1
        }
        let tenths = (value * 10).rounded() / 10
        return unit == 0 || abs(tenths) >= 10 ? "\(Int64(value.rounded()))\(units[unit])" : "\(tenths)\(units[unit])"
    }
}
