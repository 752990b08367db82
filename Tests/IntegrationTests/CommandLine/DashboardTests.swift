import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("dashboard")
    struct DashboardTests {
        /// A running dashboard.
        private struct Served {
            let program: Program
            let port: Int
            /// The cookie of a logged-in browser.
            let cookie: String

            func get(_ path: String, method: String = "GET", headers: [String: String] = [:]) throws -> HTTPProbe.Answer
            {
                let all = ["Cookie": cookie, "Sec-Fetch-Site": "same-origin"].merging(headers) { $1 }
                func send() throws -> HTTPProbe.Answer {
                    try HTTPProbe.get(port: port, path, method: method, headers: all)
                }
                return method == "GET" ? try HTTPProbe.page(send) : try send()
            }

            func text(_ path: String) throws -> String { String(decoding: try get(path).body, as: UTF8.self) }
        }

        private func serve(_ sluice: CommandLine, _ arguments: String...) async throws -> Served {
            let program = try sluice.start(["dashboard", "--bind", "127.0.0.1:0"] + arguments)
            try await eventually("the dashboard prints its login link") { program.output.contains("token=") }
            let printed = try #require(program.output.firstMatch(of: /log in once: http:\/\/127\.0\.0\.1:(\d+)(\S+)/))
            let port = try #require(Int(printed.1))
            let answer = try HTTPProbe.get(port: port, String(printed.2))
            #expect(answer.status == 303)
            let cookie = try #require(answer.fields["set-cookie"]?.split(separator: ";").first)
            return Served(program: program, port: port, cookie: String(cookie))
        }

        @Test(
            "Pages of real operations, a change with the name of its user, foreign hosts refused, status 0 at SIGTERM"
        )
        func pages() async throws {
            let sluice = CommandLine()
            let id = try await sluice.enqueue("noop", "to=<b>ann</b>", "-q", "mail")
            let served = try await serve(sluice, "--base-path", "/jobs")
            #expect(try served.text("/jobs/").contains(">mail<"))
            let page = try served.text("/jobs/ops/\(id)?queue=mail")
            #expect(page.contains(id) && page.contains("&lt;b&gt;ann&lt;/b&gt;") && !page.contains("<b>ann"))
            #expect(try served.get("/jobs/ops/7QK2MXZZ").status == 404)
            for path in ["/", "/ops", "/api/v1/stats", "/live", "/assets/style.css", "/login", "/healthz", "/none"] {
                #expect(try served.get("/jobs" + path, headers: ["Host": "evil.example"]).status == 421, "\(path)")
            }
            #expect(
                try served.get(
                    "/jobs/ops/\(id)/cancel?queue=mail",
                    method: "POST",
                    headers: ["Sec-Fetch-Site": "cross-site"]
                ).status == 403
            )
            #expect(try await sluice.state(id) == "ready")
            #expect(try served.get("/jobs/ops/\(id)/cancel?queue=mail", method: "POST").status == 303)
            #expect(try await sluice.state(id) == "cancelled")
            #expect(try await sluice.detail(id)?.cancel?.by.contains("@") ?? false)
            let stats = try JSONValue(parsing: try served.text("/jobs/api/v1/stats"))
            #expect(stats["counts"]?["cancelled"] == 1)
            try await eventually("the next link is printed") {
                served.program.output.contains(
                    "logged in as admin; the next login: http://127.0.0.1:\(served.port)/jobs/login"
                )
            }
            served.program.send(SIGTERM)
            #expect(await served.program.outcome().code == 0)
        }

        @Test("The stream reports each read until the dashboard stops; an open stream does not delay the stop")
        func stream() async throws {
            let sluice = CommandLine()
            try await sluice.lines("enqueue", "noop")
            let served = try await serve(sluice, "-i", "250ms")
            let probe = try HTTPProbe(port: served.port, "/live", headers: ["Cookie": served.cookie])
            defer { probe.disconnect() }
            var received = 0
            while received < 1_000 {
                let count = probe.readSome()
                guard count > 0 else { break }
                received += count
            }
            #expect(received >= 1_000)
            served.program.send(SIGTERM)
            #expect(await served.program.outcome().code == 0)
        }

        @Test("Read-only and viewer links change nothing; wrong addresses are refused with their status")
        func refusals() async throws {
            let sluice = CommandLine()
            let id = try await sluice.enqueue("noop")
            let readOnly = try await serve(sluice, "--read-only")
            #expect([404, 405].contains(try readOnly.get("/ops/\(id)/cancel", method: "POST").status))
            let viewer = try await serve(sluice, "--link", "viewer")
            #expect(try viewer.get("/ops/\(id)/cancel", method: "POST").status == 403)
            #expect(try await sluice.state(id) == "ready")
            let open = try await sluice("dashboard", "--bind", "0.0.0.0:0")
            #expect(open.code == 78 && open.errors.contains("--insecure-no-auth"), "\(open.errors)")
            let taken = try await sluice("dashboard", "--bind", "127.0.0.1:\(viewer.port)")
            #expect(taken.code == 78 && taken.errors.contains("cannot listen"), "\(taken.errors)")
            #expect(try await sluice("dashboard", "--bind", "nowhere").code == 64)
            #expect(try await sluice("dashboard", "--base-path", "/a?b").code == 64)
            #expect(try await sluice("dashboard", "--link", "king").code == 64)
            for served in [readOnly, viewer] {
                served.program.send(SIGTERM)
                #expect(await served.program.outcome().code == 0)
            }
        }
    }
}
