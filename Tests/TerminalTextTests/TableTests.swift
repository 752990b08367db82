import Operations
import Testing

@testable import TerminalText

@Suite("Tables", .timeLimit(.minutes(60)))
struct TableTests {
    private static func sample() -> Table {
        var table = Table([
            TableColumn("ID", minimumWidth: 8), TableColumn("STATE", minimumWidth: 9),
            TableColumn("PRI", dropPriority: 3),
            TableColumn("NAME", minimumWidth: 6), TableColumn("TRY", alignment: .right, dropPriority: 2),
            TableColumn("PROGRESS / ERROR", dropPriority: 1, minimumWidth: 10),
        ])
        table.append(["01J9ZP7C", TableCell("executing", .executing), "⇈", "SendEmail", "2/5", "-"])
        table.append([
            "01J9ZQ01", TableCell("retrying", .warning), "", "SendEmail", "12/15", "timed out\u{1B}[2J after 30s",
        ])
        return table
    }

    @Test("A table that fits is drawn with its natural widths and no spaces at line ends")
    func natural() {
        #expect(
            Self.sample().lines(for: .terminal(width: 80)) == [
                "ID        STATE      PRI  NAME         TRY  PROGRESS / ERROR",
                "01J9ZP7C  executing  ⇈    SendEmail    2/5  -",
                #"01J9ZQ01  retrying        SendEmail  12/15  timed out\x1b[2J after 30s"#,
            ]
        )
    }

    @Test("In a narrow terminal, the widest cells are cut first, then columns go by priority")
    func narrow() {
        #expect(
            Self.sample().lines(for: .terminal(width: 60)).last
                == #"01J9ZQ01  retrying        SendEmail  12/15  timed out\x1b[2…"#
        )
        #expect(
            Self.sample().lines(for: .terminal(width: 46)) == [
                "ID        STATE      NAME      TRY  PROGRESS …",
                "01J9ZP7C  executing  SendE…    2/5  -",
                "01J9ZQ01  retrying   SendE…  12/15  timed out…",
            ]
        )
        #expect(Self.sample().lines(for: .terminal(width: 30)).first == "ID        STATE      NAME")
    }

    @Test("No line is ever wider than a terminal of any width")
    func neverWraps() {
        for width in 0...90 {
            for line in Self.sample().lines(for: .terminal(width: width)) { #expect(line.displayWidth <= width) }
        }
    }

    @Test("A long name is cut, but a number's column is whole or left out", arguments: [40, 60, 80, 100, 120])
    func longNames(width: Int) {
        var table = Table([
            TableColumn("QUEUE", minimumWidth: 12), TableColumn("READY", alignment: .right),
            TableColumn("SCHEDULED", alignment: .right, dropPriority: 2),
            TableColumn("FINISHED", alignment: .right, dropPriority: 1), TableColumn("STATE", minimumWidth: 10),
        ])
        let queue = String(repeating: "q", count: 128)
        table.append([TableCell(queue), "1,234,567", "12,345", "7,654,321", "no worker"])
        table.append(["default", "1", "2", "3", "run"])
        let lines = table.lines(for: .terminal(width: width))
        for line in lines { #expect(line.displayWidth <= width) }
        #expect(lines[1].contains("1,234,567") && lines[1].hasSuffix("no worker"))
        #expect(lines[1].hasPrefix("qqqqqqqqqqq") && lines[2].hasPrefix("default "))
        #expect(!lines[0].contains("SCHED…") && !lines[0].contains("FINI…"))
        #expect(table.lines(for: .plain)[1].hasPrefix(queue + "  "))
    }

    @Test("Output to a pipe is uncut, without colour or empty fields, but with escapes")
    func plain() {
        let lines = Self.sample().lines(for: .plain, style: Style(usesColor: true))
        #expect(lines.last == #"01J9ZQ01  retrying   -    SendEmail  12/15  timed out\x1b[2J after 30s"#)
        #expect(Self.sample().lines(for: .plain, showsHeader: false).count == 2)
    }

    @Test("Colour surrounds the text only, and alignment stays")
    func color() {
        let line = Self.sample().lines(for: .terminal(width: 80), style: Style(usesColor: true))[1]
        #expect(line.hasPrefix("01J9ZP7C  \u{1B}[36mexecuting\u{1B}[0m  ⇈"))
    }

    @Test("A missing cell is empty, an extra cell is dropped, and an empty table is its header")
    func raggedRows() {
        var table = Table([TableColumn("A"), TableColumn("B", maximumWidth: 3)])
        #expect(table.lines(for: .plain) == ["A  B"])
        table.append(["1"])
        table.append(["1", "12345", "x"])
        #expect(table.lines(for: .terminal(width: 80)) == ["A  B", "1", "1  12…"])
    }
}

@Suite("Styles and marks", .timeLimit(.minutes(60)))
struct StyleTests {
    @Test(
        "Colour follows the flag, then CLICOLOR_FORCE, then NO_COLOR and TERM, then the terminal",
        arguments: [
            (ColorChoice.auto, true, [:], true), (.auto, false, [:], false), (.always, false, ["NO_COLOR": "1"], true),
            (.never, true, ["CLICOLOR_FORCE": "1"], false), (.auto, true, ["NO_COLOR": "1"], false),
            (.auto, true, ["NO_COLOR": ""], true), (.auto, true, ["TERM": "dumb"], false),
            (.auto, false, ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], true),
            (.auto, false, ["CLICOLOR_FORCE": "0"], false),
        ] as [(ColorChoice, Bool, [String: String], Bool)]
    )
    func color(choice: ColorChoice, isTerminal: Bool, environment: [String: String], expected: Bool) {
        #expect(Style(color: choice, isTerminal: isTerminal, environment: environment).usesColor == expected)
    }

    @Test("A terminal without a UTF-8 locale gets ASCII")
    func locale() {
        #expect(Style(isTerminal: true, environment: ["LANG": "C"]).usesASCII)
        #expect(Style(isTerminal: true, environment: [:]).usesASCII)
        #expect(!Style(isTerminal: true, environment: ["LC_ALL": "", "LANG": "de_DE.UTF-8"]).usesASCII)
        #expect(!Style(isTerminal: true, environment: ["LC_CTYPE": "C.utf8", "LANG": "C"]).usesASCII)
        #expect(Style(isTerminal: true, environment: ["LC_ALL": "C", "LANG": "de_DE.UTF-8"]).usesASCII)
        #expect(!Style(isTerminal: false, environment: [:]).usesASCII)
    }

    @Test("Every state has its own mark of one cell and its own letter")
    func stateMarks() {
        let states = OperationState.allCases
        #expect(Set(states.map { $0.mark() }).count == states.count)
        #expect(Set(states.map { $0.mark(ascii: true) }).count == states.count)
        #expect(states.allSatisfy { $0.mark().displayWidth == 1 && $0.mark(ascii: true).utf8.count == 1 })
        #expect(states.map { $0.mark(ascii: true) }.joined() == "SBRXTFDCE")
    }

    @Test("Priorities have marks, and normal is blank except in ASCII")
    func priorityMarks() {
        #expect(OperationPriority.allCases.map { $0.mark() } == ["⇊", "↓", "", "↑", "⇈"])
        #expect(OperationPriority.allCases.map { $0.mark(ascii: true) } == ["--", "-", ".", "+", "++"])
    }

    @Test("A state's colour never replaces its word")
    func words() {
        let style = Style(usesColor: true)
        #expect(style.word(.dead) == "\u{1B}[31mdead\u{1B}[0m")
        #expect(style.mark(.cancelled) == "\u{1B}[35m⊗\u{1B}[0m")
        #expect(Style().word(.dead) == "dead")
    }
}
