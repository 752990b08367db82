import ExampleBasics
import ExampleServer
import Foundation

/// Shows the list, and remembers its icons and failures.
@MainActor
final class Screen: IconLoaderDelegate {
    private let apps: [AppEntry]
    private let watch = Stopwatch()
    private let hasColors = isatty(STDOUT_FILENO) == 1
    private(set) var arrivals: [Int] = []
    private(set) var icons: [AppEntry: Icon] = [:]
    private(set) var failures: [AppEntry: String] = [:]

    init(apps: [AppEntry]) { self.apps = apps }

    func iconLoader(_ loader: IconLoader, received result: Result<Icon, any Error>, for app: AppEntry, arrival: Int) {
        arrivals.append(arrival)
        let shown: String
        switch result {
        case .success(let icon):
            icons[app] = icon
            shown = swatch(icon) + " \(icon.data.count) bytes"
        case .failure(let error):
            failures[app] = "\(error)"
            shown = "   \(error)"
        }
        print("  row \("\(app.row)".padded(to: 3)) \(app.name.padded(to: 8)) \(shown.padded(to: 28)) \(watch.text)")
    }

    private func swatch(_ icon: Icon) -> String {
        guard hasColors, let color = icon.color else { return "██" }
        return "\u{1B}[38;2;\(color[0]);\(color[1]);\(color[2])m██\u{1B}[0m"
    }

    func report(_ traffic: Traffic, _ site: IconSite, firstRequests: Int, scrolledBack: Int) -> Claims {
        let missing = apps.filter { $0.row % site.icons == site.missing }
        let right = icons.filter { $0.value.data == IconSite.picture($0.key.row % site.icons) }.count
        var report = Claims()
        report.claim("at most 3 downloads at a time", traffic.mostInFlight <= 3, "\(traffic.mostInFlight)")
        report.claim("no address twice at once", traffic.mostInFlightOfOnePath == 1, "\(traffic.mostInFlightOfOnePath)")
        // The icon whose first download failed needs one more request.
        report.claim(
            "each address asked for once",
            firstRequests == site.icons + 1,
            "\(firstRequests), 1 of them again"
        )
        let again = traffic.paths.count - firstRequests
        report.claim("scrolling back asks the memory", again == 0, "\(again) requests for \(scrolledBack) rows")
        let isInOrder = arrivals == Array(1...max(1, arrivals.count))
        report.claim("delivered in order of arrival", isInOrder, "\(arrivals.count)")
        report.claim("every icon in its own row", right == apps.count - missing.count, "\(right)")
        report.claim("failures told, not swallowed", Set(failures.keys) == Set(missing), "\(failures.count)")
        return report
    }
}
