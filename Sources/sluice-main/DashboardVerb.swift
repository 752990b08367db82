#if Dashboard
    import ArgumentParser
    import Foundation
    import Operations
    import Sluice
    import SluiceCLI
    import SluiceDashboard
    import SluiceOperator
    import TerminalText

    /// `dashboard`: serves the web dashboard.
    struct DashboardVerb: Verb {
        static let formats: Set<OutputFormat> = .json
        static let effect = VerbEffect.changes

        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "dashboard",
                abstract: "Serve a web page with queues, operations and workers; cancel, retry and pause from there.",
                discussion: """
                    EXAMPLES
                      \(Program.name) dashboard
                      \(Program.name) dashboard --bind 127.0.0.1:8080 --base-path /jobs
                      \(Program.name) dashboard --read-only --link viewer

                    Prints a link that logs in once. After a login it prints the next link. With --users, people log in \
                    with their tokens, and links are printed only with --link. Roles: a viewer reads; an operator \
                    also changes operations, pauses queues and schedules, and quiets workers; an admin also enqueues \
                    operations, removes them and schedules, sets limits, stops workers, and changes all operations at once.
                    Only this machine can connect, unless --bind names another address. That needs --users or \
                    --insecure-no-auth. Connections are not encrypted.
                    """
            )
        }

        @Option(help: ArgumentHelp("Listen on this address; port 0 takes a free port.", valueName: "host:port"))
        var bind = "127.0.0.1:4650"
        @Option(help: ArgumentHelp("Serve below this path, as in a proxy's configuration.", valueName: "path"))
        var basePath = ""
        @Option(
            help: ArgumentHelp(
                "Print login links for this role: viewer, operator or admin (admin; with --users none).",
                valueName: "role"
            )
        )
        var link: Role?
        @Option(help: ArgumentHelp("Also accept this name in the Host header; may be repeated.", valueName: "name"))
        var host: [String] = []
        @Option(
            help: ArgumentHelp("Accept the tokens and names in this file: NAME ROLE sha256:HASH.", valueName: "file")
        )
        var users: String?
        @Option(help: ArgumentHelp("Trust a proxy at these addresses; may be repeated.", valueName: "cidr"))
        var trustedProxy: [String] = []
        @Option(help: ArgumentHelp("Take the name of the user from this header of a trusted proxy.", valueName: "name"))
        var identityHeader: String?
        @Flag(help: "Give everyone who can connect the role of an admin, without a login.")
        var insecureNoAuth = false
        @Option(
            name: .shortAndLong,
            help: "Read Redis at most once in this time, 250ms to 60s.",
            transform: DurationText.parse
        )
        var interval: Duration = .seconds(1)
        @OptionGroup var global: GlobalOptions

        func check() throws {
            guard (.milliseconds(250) ... .seconds(60)).contains(interval) else {
                throw CLIError.usage(
                    "--interval is \(DurationText.exact(interval)); expected 250ms to 60s",
                    fix: "-i 1s"
                )
            }
            guard DashboardOptions.basePath(basePath) != nil else {
                throw CLIError.usage("--base-path \(basePath) is not a plain path", fix: "--base-path /jobs")
            }
            for range in trustedProxy where AddressRange(range) == nil {
                throw CLIError.usage(
                    "--trusted-proxy \(range) is no range of addresses",
                    fix: "--trusted-proxy 10.0.0.0/8"
                )
            }
            guard trustedProxy.isEmpty == (identityHeader == nil), identityHeader == nil || users != nil else {
                throw CLIError.usage(
                    "--trusted-proxy, --identity-header and --users belong together",
                    fix: "--trusted-proxy 10.0.0.0/8 --identity-header X-Forwarded-User --users FILE"
                )
            }
            guard BindAddress(bind) != nil else {
                throw CLIError.usage("--bind \(bind) is not an address and a port", fix: "--bind 127.0.0.1:4650")
            }
        }

        func perform(_ invocation: Invocation) async throws -> ExitStatus {
            let options = try options(invocation)
            let client = try await invocation.connect()
            let server = Serving(client, options, link: link ?? (users == nil ? .admin : nil), invocation)
            do { try await server.run() } catch let error as DashboardServer.BindFailure {
                throw CLIError(
                    .badConfiguration,
                    "cannot listen on \(bind): \(error.reason)",
                    fix: "\(Program.name) dashboard --bind 127.0.0.1:0"
                )
            }
            await client.close()
            return .done
        }

        private func options(_ invocation: Invocation) throws(CLIError) -> DashboardOptions {
            let settings = invocation.settings
            let address = BindAddress(bind) ?? BindAddress(host: "127.0.0.1", port: 4650)
            var options = DashboardOptions(
                host: address.host,
                port: address.port,
                namespace: settings.namespace.content,
                identity: SluiceClient.identity
            )
            options.basePath = DashboardOptions.basePath(basePath) ?? ""
            options.isReadOnly = settings.readOnly.content
            options.isOpen = insecureNoAuth
            options.users = try readUsers()
            options.proxy = identityHeader.map {
                ProxyRule(ranges: trustedProxy.compactMap(AddressRange.init), header: $0)
            }
            options.hosts = host
            options.interval = interval
            options.view = invocation.view
            options.place = settings.redis.content?.description ?? "embedded redis"
            guard options.isLoopback || insecureNoAuth || !options.users.isEmpty else {
                throw CLIError(
                    .badConfiguration,
                    "--bind \(bind) is open to other machines, and only the reader of this terminal could log in",
                    notes: ["connections are not encrypted; a proxy can add TLS"],
                    fix:
                        "--bind 127.0.0.1:\(address.port), or --users FILE, or --insecure-no-auth to make everyone an admin"
                )
            }
            return options
        }

        private func readUsers() throws(CLIError) -> Users {
            guard let users else { return Users() }
            guard let data = FileManager.default.contents(atPath: users) else {
                throw CLIError(.badConfiguration, "the users file \(users) cannot be read", fix: "--users FILE")
            }
            do { return try Users(parsing: String(decoding: data, as: UTF8.self)) } catch {
                throw CLIError(
                    .badConfiguration,
                    "the users file \(users) has an error in \(error)",
                    fix: "ann operator sha256:HASH, with the hash of: printf %s TOKEN | sha256sum"
                )
            }
        }
    }

    extension Role: ExpressibleByArgument {}

    /// An address and a port, as they are typed.
    struct BindAddress: Equatable {
        var host: String
        var port: Int

        init(host: String, port: Int) { (self.host, self.port) = (host, port) }

        /// Reads `127.0.0.1:4650`, `[::1]:4650` or `:4650`, which is the loopback address.
        init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
                (0...65_535).contains(port)
            else { return nil }
            var host = String(text[..<colon])
            if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
            guard !host.contains("["), !host.contains("]"), !host.contains("/"), !host.contains(" ") else { return nil }
            self.init(host: host.isEmpty ? "127.0.0.1" : host, port: port)
        }

        /// The address in a URL.
        static func url(_ host: String, _ port: Int) -> String {
            let name = ["0.0.0.0", "::"].contains(host) ? "localhost" : host
            return "http://" + (name.contains(":") ? "[\(name)]" : name) + ":\(port)"
        }
    }

    /// A server that prints its links.
    private struct Serving: Sendable {
        private let client: SluiceClient
        private let options: DashboardOptions
        private let link: Role?
        private let invocation: Invocation
        private let printer: LinkPrinter

        init(_ client: SluiceClient, _ options: DashboardOptions, link: Role?, _ invocation: Invocation) {
            (self.client, self.options, self.link, self.invocation) = (client, options, link, invocation)
            printer = LinkPrinter(invocation)
        }

        func run() async throws {
            let server = DashboardServer(client, options: options) { [printer] name, role in
                printer.printNext("logged in as \(role.rawValue)")
            }
            let application = server.application { [options, printer, link] port in
                let base = BindAddress.url(options.host, port)
                var makeLink: (@Sendable () -> String)?
                if let link, !options.isOpen { makeLink = { base + server.loginPath(for: link) } }
                printer.begin(base + server.path, isOpen: options.isOpen, makeLink: makeLink)
            }
            try await server.run(application)
        }
    }
#endif
