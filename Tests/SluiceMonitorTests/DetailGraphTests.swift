import BrokerModel
import Operations
import Synchronization
import TerminalText
import Testing

@testable import SluiceMonitor
@testable import SluiceOperator

@Suite("The graph of an operation", .timeLimit(.minutes(60)))
struct DetailGraphTests {
    @Test("Each operation stands below its dependency, with state and time, and the shown one is marked")
    func tree() {
        #expect(
            lines(model(pipeline), 80, 24) == """
                 01KDZ9GN4R0000000000000008  encode.part7  ► executing
                 [i]nfo  [a]ttempts 1  [l]ogs  [g]raph  [t]imeline  [r]aw
                 4 operations: 1 blocked, 1 executing, 2 finished   critical path 53s over 2
                 ✓ 01KDZ9GN4R0000000000000001 split  finished  12s
                 └─ ► 01KDZ9GN4R0000000000000008 encode.part7  executing  41s  ◀
                    └─ ⊘ 01KDZ9GN4R000000000000000C me\\x1b[2Jrge  blocked
                 ✓ 01KDZ9GN4R0000000000000002 probe  finished  2.0s
                 └─ ► 01KDZ9GN4R0000000000000008 encode.part7  executing  41s  ◀  ↑
                """
        )
        #expect(
            lines(model(pipeline), 80, 24, ascii: true).hasSuffix(
                """
                 F 01KDZ9GN4R0000000000000001 split  finished  12s
                 `- X 01KDZ9GN4R0000000000000008 encode.part7  executing  41s  <
                    `- B 01KDZ9GN4R000000000000000C me\\x1b[2Jrge  blocked
                 F 01KDZ9GN4R0000000000000002 probe  finished  2.0s
                 `- X 01KDZ9GN4R0000000000000008 encode.part7  executing  41s  <  ^
                """
            )
        )
    }

    @Test("A narrow screen has short ids, the critical path in its own line, and only letters for the other tabs")
    func narrow() {
        #expect(
            lines(model(pipeline), 59, 14) == """
                 01KDZ9GN4R0000000000000008  encode.part7  ► executing
                 [i]nfo  [a]ttempts 1  [l]ogs  [g]raph  [t]imeline  [r]aw
                 4 operations: 1 blocked, 1 executing, 2 finished
                 critical path 53s over 2
                 ✓ …000001 split  finished  12s
                 └─ ► …000008 encode.part7  executing  41s  ◀
                    └─ ⊘ …00000C me\\x1b[2Jrge  blocked
                 ✓ …000002 probe  finished  2.0s
                 └─ ► …000008 encode.part7  executing  41s  ◀  ↑
                """
        )
        #expect(model(pipeline).grid(40, 10).text(row: 2) == " [i] [a] [l] [g]raph [t] [r]")
    }

    @Test("The graph is drawn and scrolled at every size, also in ASCII, and shows a line of it from 30 by 4 on")
    func sizes() {
        let chain = graph((1...200).map { ($0, "step", .blocked, $0 == 1 ? [] : [$0 - 1]) }, isCutShort: true)
        for (width, height) in [(1, 1), (29, 3), (30, 4), (30, 5), (59, 14), (60, 15), (79, 24), (130, 35)] {
            for ascii in [false, true] {
                var model = model(chain)
                let size = ScreenSize(width: width, height: height)
                for key in [Key.end, .up, .pageUp, .down, .home, .down, .end] {
                    let view = MonitorView(model, size: size, now: .zero, style: Style(usesASCII: ascii))
                    #expect(!ascii || view.grid().text.utf8.allSatisfy { $0 < 0x80 })
                    model.detailScroll = view.detailScroll
                    _ = model.handle(key)
                }
                guard width >= 30, height >= 4 else { continue }
                let text = model.grid(width, height, ascii: ascii).text
                #expect(text.contains("000068"), "\(width)x\(height): the two hundredth\n\(text)")
                #expect(text.contains(ascii ? "~" : "…"))
                _ = model.handle(.home)
                #expect(model.grid(width, height, ascii: ascii).text.contains("200 operations: 200"))
            }
        }
        #expect(model(chain).grid(80, 24).text.contains("there are more; these are the nearest 200"))
    }

    @Test("Twenty siblings are drawn, including the shown operation, and the others are counted by state")
    func folded() {
        let parts = (2...201).map { number -> Part in (number, "part", number > 191 ? .finished : .blocked, [1]) }
        let graph = graph([(1, "split", .executing, [])] + parts + [(300, "merge", .blocked, Array(2...201))])
        func rows(_ number: Int) -> [String] {
            GraphTree(graph, subject: name(number), style: Style()).rows.map {
                $0.branch + $0.spans.map(\.text).joined()
            }
        }
        let whole = rows(1)
        #expect(whole.count == 1 + 20 * 2 + 1)
        #expect(whole[2] == "│  └─ ⊘ \(id(300)) merge  blocked")
        #expect(whole.last == "└─ … 180 more: 170 blocked, 10 finished")
        let part = rows(150)
        #expect(part.count == whole.count)
        #expect(part.contains { $0.contains("\(id(150)) part") && $0.hasSuffix("◀") })
        #expect(rows(300).contains { $0.contains("merge") && $0.hasSuffix("◀") })
    }

    @Test("Further roots are counted, and the path to the shown operation is drawn")
    func foldedRoots() {
        let parts = (1...50).map { number -> Part in (number, "part", .ready, []) }
        let graph = graph(parts + [(60, "notify", .blocked, [45]), (61, "merge", .blocked, Array(1...50))])
        let rows = GraphTree(graph, subject: name(60), style: Style(usesASCII: true)).rows
        let text = rows.map { $0.branch + $0.spans.map(\.text).joined() }
        #expect(text.last == "~ 30 more: 30 ready")
        #expect(text.contains("|- B \(id(60)) notify  blocked  <"))
    }

    @Test("g reads the graph at once and with each snapshot, but not on other tabs or a frozen screen")
    func reading() {
        var model = model(nil, isReadOnly: true)
        _ = model.type("i")
        #expect(!model.readsGraph)
        #expect(model.type("g") == [.refresh] && model.readsGraph)
        #expect(model.type("g") == [])
        #expect(model.grid(80, 24).text(row: 3) == " reading …")
        #expect(model.type("p") == [] && !model.readsGraph)
        model.ingest(reading(pipeline))
        #expect(model.grid(80, 24).text(row: 3) == " not read before the screen was frozen")
        #expect(model.type("p") == [.refresh] && model.readsGraph)
        model.ingest(reading(pipeline))
        #expect(model.grid(80, 24).text(row: 3).hasPrefix(" 4 operations"))
        _ = model.type("p")
        model.ingest(reading(graph([(8, "encode.part7", .finished, [])])))
        #expect(model.grid(80, 24).text(row: 3).hasPrefix(" 4 operations"))
        #expect(model.type("l") == [] && model.type("g") == [])
    }

    @Test("The fetcher reads at most 200 operations, and none while the tab is hidden")
    func fetching() async throws {
        let broker = InMemoryBroker()
        let first = NewOperation(envelope: OperationEnvelope(name: "first").encoded())
        let others = (0..<300).map { _ in
            let links = OperationLinks(after: [OperationDependency(first.id)])
            return NewOperation(envelope: OperationEnvelope(name: "other").encoded(), links: links)
        }
        _ = try await broker.enqueue([first] + others, queue: "a")
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let address = OperationAddress(queue: "a", id: first.id)
        let graphs = Mutex<[OperationGraph?]>([])
        for showsGraph in [false, true] {
            fetcher.look(at: .init(interval: .seconds(60), address: address, showsGraph: showsGraph))
            await fetcher.runOnce { outcome in
                if case .read(_, let detail) = outcome { graphs.withLock { $0.append(detail?.graph) } }
            }
        }
        let read = graphs.withLock { $0 }
        #expect(read.count == 2 && read[0] == nil)
        #expect(read[1]?.order.count == 200 && read[1]?.isCutShort == true)
    }

    @Test("The facts list dependencies, unmet ones first, and dependents, as far as they fit")
    func facts() {
        var reading = reading(nil)
        #expect(!lines(with: reading).contains("need"))
        var links = OperationNeeds()
        links.needs = [
            .init(OperationDependency(id(1)), isMet: true, state: .finished, hasHeard: true),
            .init(OperationDependency(id(2), onFailure: .hold), isMet: false, state: .dead, hasHeard: true),
            .init(OperationDependency(id(3), onFailure: .run), isMet: true, state: nil, hasHeard: true),
        ]
        (links.needCount, links.unmetCount) = (8, 3)
        (links.dependents, links.dependentCount) = ((10..<30).map(id), 1_200)
        reading.detail?.links = links
        #expect(
            lines(with: reading).contains(
                """
                 needs  ✗ …000002 hold  ✓ …000001  …000003 gone run  5 more  (5 of 8 done)
                 needed by  …00000A  …00000B  …00000C  …00000D  …00000E  …00000F  1,194 more
                """
            )
        )
        #expect(
            lines(with: reading, width: 40, ascii: true).contains(
                """
                 needs  D ~000002 hold  7 more  (5 of ~
                """
            )
        )
    }

    @Test("The facts of a group have a bar and its members, and show whether it is open")
    func group() {
        var reading = reading(nil)
        var group = detail(8, GroupTerms.name, .blocked)
        let arguments = Array(#"{"name":"nightly"}"#.utf8)
        group.record.envelope = OperationEnvelope(name: GroupTerms.name, arguments: arguments).encoded()
        group.links.group = GroupTerms(ifAbandoned: .close, leaseMilliseconds: 60_000)
        group.links.needs = [
            .init(DependencyName(id(1)), .member, isMet: false, state: .executing, hasHeard: false),
            .init(DependencyName(id(2)), .member, isMet: true, state: .dead, hasHeard: true),
        ]
        (group.links.needCount, group.links.unmetCount, group.links.missCount) = (12, 10, 1)
        group.links.isOpen = true
        reading.detail = group
        #expect(
            lines(with: reading).contains(
                """
                  group nightly  ⊘ blocked
                 [i]nfo  [a]ttempts 0  [l]ogs  [g]raph  [t]imeline  [r]aw
                 queue video  priority normal
                 open: its opener has not closed it
                 ████░░░░░░░░░░░░░░  3 of 12 members have ended, 1 of these has not finished
                 enqueued 12:01:11
                 members  ► …000001  ✗ …000002  10 more  (3 of 12 done)
                """
            )
        )
        let callback = NeedPolicy.success
        reading.detail = detail(8, "report", .blocked)
        reading.detail?.links.needs = [
            .init(DependencyName(id(1)), callback, isMet: false, state: .blocked, hasHeard: false)
        ]
        reading.detail?.links.needCount = 1
        reading.detail?.links.unmetCount = 1
        #expect(lines(with: reading).contains("needs  ⊘ …000001 on success  (0 of 1 done)"))
    }
}

// MARK: - Graphs and screens

extension DetailGraphTests {
    private typealias Part = (number: Int, name: String, state: OperationState, needs: [Int])

    private var pipeline: OperationGraph {
        graph([
            (1, "split", .finished, []), (2, "probe", .finished, []), (8, "encode.part7", .executing, [1, 2]),
            (12, "me\u{1B}[2Jrge", .blocked, [8]),
        ])
    }

    private func name(_ number: Int) -> DependencyName { DependencyName(id(number), queue: "video") }

    private func graph(_ parts: [Part], isCutShort: Bool = false) -> OperationGraph {
        let details = parts.map { detail($0.number, $0.name, $0.state) }
        let needs = Dictionary(uniqueKeysWithValues: parts.map { (name($0.number), $0.needs.map { name($0) }) })
        return OperationGraph(details, needs: needs, isCutShort: isCutShort, time: noon)
    }

    private func detail(_ number: Int, _ name: String, _ state: OperationState) -> OperationDetail {
        let took: Int64 = number == 1 ? 12_000 : 2_000
        let record = OperationRecord(
            header: OperationHeader(id: id(number)),
            state: state,
            startedAt: state == .finished ? noon - 60_000 : state == .executing ? noon - 41_000 : 0,
            enqueuedAt: noon - 200_000,
            endedAt: state == .finished ? noon - 60_000 + took : 0,
            envelope: OperationEnvelope(name: name).encoded()
        )
        return OperationDetail(queue: "video", record: record, state: state)
    }

    private func reading(_ graph: OperationGraph?) -> DetailReading {
        let address = OperationAddress(queue: "video", id: id(8))
        return DetailReading(
            address: address,
            detail: detail(8, "encode.part7", .executing),
            time: noon,
            graph: graph
        )
    }

    /// Returns the detail screen of the longest-running operation, with its graph.
    private func model(_ graph: OperationGraph?, isReadOnly: Bool = false) -> MonitorModel {
        var model = shopModel(isReadOnly: isReadOnly)
        _ = model.handle(.enter)
        _ = model.type("g")
        model.ingest(reading(graph))
        return model
    }

    /// Returns the lines below the header and above the footer.
    private func lines(_ model: MonitorModel, _ width: Int, _ height: Int, ascii: Bool = false) -> String {
        let grid = model.grid(width, height, ascii: ascii)
        let rows = (1..<height - 1).map { grid.text(row: $0) }
        return rows.prefix { !$0.isEmpty }.joined(separator: "\n")
    }

    private func lines(with reading: DetailReading, width: Int = 80, ascii: Bool = false) -> String {
        var model = shopModel()
        _ = model.handle(.enter)
        model.ingest(reading)
        return lines(model, width, 24, ascii: ascii)
    }
}
