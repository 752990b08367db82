import ContactSync

@main enum App {
    static func main() async { await SyncCommand.main() }
}
