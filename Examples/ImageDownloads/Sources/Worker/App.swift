import IconDownloads
import SluiceCLI

/// A worker that downloads icons, with every verb of `sluice`.
@main struct App {
    static func main() async { await SluiceMain.run { $0.register(IconDownload.self) } }
}
