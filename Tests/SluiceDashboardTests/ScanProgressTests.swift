import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Scans over several pages", .timeLimit(.minutes(60)))
struct ScanProgressTests {
    private func page(_ scanned: Int, _ found: Int, of total: Int?, isOver: Bool) -> ListWalk.Result {
        var page = ListWalk.Result()
        (page.scanned, page.found, page.total) = (scanned, found, total)
        if !isOver { page.next = ListWalk.Position(state: .ready, queue: "mail") }
        return page
    }

    @Test("The numbers of the pages before are added, and the end says that there are no more")
    func numbers() {
        let first = ScanProgress(page(100_000, 0, of: 205_376, isOver: false))
        #expect(first.text == "100,000 of 205,376 scanned, none found so far" && !first.isOver)
        let second = ScanProgress(page(20_000, 12, of: 205_376, isOver: false), scanned: 100_000, found: 0)
        #expect(second.text == "120,000 of 205,376 scanned, 12 found so far")
        let last = ScanProgress(page(85_380, 1, of: 205_376, isOver: true), scanned: 120_000, found: 12)
        #expect(last.text == "205,376 of 205,376 scanned, 13 found, no more" && last.isOver)
        #expect(ScanProgress(page(2, 0, of: 2, isOver: true)).text == "2 of 2 scanned, none found")
        #expect(ScanProgress(page(50, 50, of: nil, isOver: false)).text == nil)
    }

    @Test("A next page says the running total, also without a script, and the last one that there are no more")
    func pages() async throws {
        let desk = Desk()
        for _ in 0..<3 {
            for name in ["Send", "Other"] {
                _ = try await desk.enqueue(name, name, name, name, name, name, name, name, name, name)
                _ = try await desk.enqueue(name, name, name, name, name, name, name, name, name, name)
            }
        }
        let first = try await desk("/ops?q=name:Send").text
        #expect(first.contains(/50 shown; \d+ of 120 scanned, 50 found so far/))
        let link = try #require(first.firstMatch(of: /href="([^"]*cursor=[^"]*)"[^>]*>Next page/)?.1)
        let second = try await desk(String(link).replacing("&amp;", with: "&")).text
        #expect(second.contains("10 shown; 120 of 120 scanned, 60 found, no more"))
        #expect(!second.contains("Next page") && !second.contains("Scan on"))
        // Numbers that a person types in the address are no numbers of a page.
        let typed = String(link).replacing("&amp;", with: "&").replacing(/counts=[^&]*/, with: "counts=-1.x")
        #expect(typed.contains("cursor=") && typed.contains("counts=-1.x"))
        let last = try await desk(typed).text
        #expect(last.contains("10 shown") && !last.contains("60 found"))
        #expect(try await desk("/ops?q=name:None").text.contains("No operation matches the query."))
        // The totals of the queues are no counts of what matches.
        #expect(!first.contains("class=\"total\""))
        #expect(try await desk("/ops?q=queue:mail").text.contains("<span class=\"total\">120</span>"))
    }
}
