/// A row of the list.
struct AppEntry: Sendable, Hashable {
    let row: Int
    let name: String
    /// The address of the icon. Several rows may have the same icon.
    let icon: String
    /// The name of the icon's file.
    var file: String { icon.split(separator: "/").last.map(String.init) ?? "icon" }

    private static let names = ["Maps", "Mail", "Notes", "Music", "Clock", "Chess", "Radio", "Paint", "Tides", "Stars"]

    static func list(rows: Int, icons: Int, server: String) -> [AppEntry] {
        (0..<rows).map { row in
            let edition = row / names.count
            let name = names[row % names.count] + (edition > 0 ? " \(edition + 1)" : "")
            return AppEntry(row: row, name: name, icon: server + IconSite.path(row % icons))
        }
    }
}
