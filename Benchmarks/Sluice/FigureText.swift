import Foundation
import TerminalText

/// Numbers formatted for people.
enum FigureText {
    static func number(_ value: Double) -> String {
        if value == value.rounded(), abs(value) < 1e15 { return QuantityText.grouped(Int(value)) }
        return switch abs(value) {
        case 1000...: QuantityText.grouped(Int(value.rounded()))
        case 100...: String(format: "%.0f", value)
        case 10...: String(format: "%.1f", value)
        default: String(format: "%.2f", value)
        }
    }

    static func value(_ measurement: Measurement) -> String {
        let number = number(measurement.value)
        return switch measurement.unit {
        case .perSecond: number + "/s"
        case .count: number
        case .percent: number + " %"
        default: number + " " + measurement.unit.rawValue
        }
    }

    /// `drain, untracked · slots 500 · processes 1`
    static func name(_ measurement: Measurement, dot: String) -> String {
        ([measurement.name] + measurement.parameters.map { "\($0.name) \(number($0.value))" }).joined(separator: dot)
    }
}
