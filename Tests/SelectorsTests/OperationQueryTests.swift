import Operations
import Selectors
import Testing

@Suite(.timeLimit(.minutes(60)))
struct OperationQueryTests {
    private static let now: Int64 = 1_000_000_000
    private static let id = OperationID("01J9ZM2Q000000000000QK2MX7")!

    private func detail(
        _ state: OperationState = .dead,
        arguments: String = #"{"user":{"id":42,"name":"Ann Lee"},"ids":[7,8],"urgent":true,"note":null}"#,
        tags: [String] = ["vip", "eu"]
    ) -> OperationDetail {
        var envelope = OperationEnvelope(name: "SendEmail", arguments: Array(arguments.utf8), tags: tags)
        envelope.schedule = "nightly"
        var record = OperationRecord(
            header: OperationHeader(id: Self.id, priority: .high),
            state: state,
            enqueuedAt: Self.now - 3_600_000,
            envelope: envelope.encoded()
        )
        record.startedAt = Self.now - 700_000
        if state.isTerminal { record.endedAt = Self.now - 300_000 }
        var detail = OperationDetail(queue: "mail", record: record, state: state)
        let failure = OperationFailure(type: "SMTP", message: "Timed out after 30s, at once", attempt: 1, delivery: 1)
        detail.errors = [FailedAttempt(at: 1, error: failure.encoded())]
        return detail
    }

    private func matches(_ text: String, _ detail: OperationDetail) throws -> Bool {
        try OperationQuery(parsing: text).matches(detail, now: Self.now)
    }

    @Test("Terms select states and queues: a comma means or, a minus means not")
    func places() throws {
        let query = try OperationQuery(parsing: ["state:dead,retrying", "-queue:mail*"])
        #expect(query.states == [.retrying, .dead])
        #expect(query.queues(of: ["mail", "mail2", "video"]) == ["video"])
        #expect(!query.filtersRows)
        let all = try OperationQuery(parsing: "")
        #expect(all.states.count == OperationState.allCases.count && !all.filtersRows && all.terms.isEmpty)
        #expect(try OperationQuery(parsing: "-state:dead,finished").states.contains(.dead) == false)
    }

    @Test(
        "A term matches",
        arguments: [
            "name:Send*", "name:*Email", "name:S*d*l", "tag:vip", "tag:x,eu", "-tag:test", "!tag:test",
            "tag:vip tag:eu", "schedule:night*", "schedule:nightly,x", "-schedule:x",
            "priority:high", "priority:>=normal", "priority:>normal", "priority:<very-high", "priority:low,high",
            "-priority:<=normal", "age:>4m", "age:<6m", "age:>=5m", "age:<=5m", "-age:>1h", "age:>1h,<10m",
            "id:01J9ZM2Q000000000000QK2MX7", "01J9ZM2Q000000000000QK2MX7", "-01J9ZM2Q000000000000QK2MX8",
            "id:01J9ZM2Q*", "id:qk2mx7", "id:…QK2MX7", "…QK2MX7", "...qk2mx7", "-…QK2MX8",
            "args.user.id:42", "args.user.id:41,42", "args.user.name:'Ann Lee'", #"args.user.name:"Ann Lee""#,
            "args.user.name:Ann*", "args.ids:8", "args.ids.0:7", "args.urgent:true", "args.note:null", "args.user:*",
            "-args.user.id:43", "-args.missing:x", #"error:"timed out""#,
            #"signature:"SMTP: Timed out after Ns, at once""#, "-signature:SMTP", "signature:SMTP*", "error:smtp",
            "error:'after 30s, at'",
            "error:timed*once", "Lee", "text:lee", "sendemail", "vip", #""timed out""#, "error:timed out",
            "-text:other", "args.user.id:>41", "args.user.id:>=42", "args.user.id:<42.5", "args.user.id:<0,>40",
            "args.ids:>7", "-args.user.id:>42", "-args.user.name:>1", "args.\"user\".id:42", "args.'user'.\"id\":>41",
            "STATE:Dead", "queue:m*", "can't,lee", "''",
        ]
    )
    func matching(text: String) throws { #expect(try matches(text, detail())) }

    @Test(
        "A term does not match",
        arguments: [
            "name:send*", "name:Resize", "name:Send", "tag:test", "-tag:vip", "tag:vip tag:us", "worker:h1",
            "priority:low", "priority:>high", "priority:<high", "age:<4m", "age:>6m", "id:01J9ZM2Q", "id:MX7",
            "args.user.id:4", "args.user:42", "args.missing:x", "-args.user.id:42", "args.ids:9", "args.user.name:ann*",
            "args.user.id:>42", "args.user.id:<=41", "args.user.name:>1", "args.missing:>0", "args.ids:>8",
            "args.user.id:\">41\"",
            #"error:"timed  out""#, "-error:smtp", "other", "-lee", "state:ready", "queue:video", "name:'Send*'",
        ]
    )
    func notMatching(text: String) throws { #expect(try !matches(text, detail())) }

    @Test("The age counts from the start, the end or the enqueue, depending on the state")
    func ages() throws {
        #expect(try matches("age:>11m age:<12m", detail(.executing)))
        #expect(try matches("age:>59m", detail(.ready)))
        #expect(try matches("age:<=5m", detail(.finished)))
    }

    @Test("An age limit ends the walk through ended operations, and only through these")
    func earlyEnd() throws {
        let young = try OperationQuery(parsing: "age:<4m")
        #expect(young.endsWalk(at: detail(.dead), now: Self.now))
        #expect(!young.endsWalk(at: detail(.executing), now: Self.now))
        for text in ["age:<6m", "age:>4m", "-age:<4m", "age:<4m,>1h"] {
            #expect(try !OperationQuery(parsing: text).endsWalk(at: detail(.dead), now: Self.now), "\(text)")
        }
    }

    @Test("An unknown queue in a query is reported with a similar name")
    func unknownQueues() throws {
        let query = try OperationQuery(parsing: "queue:mial,video,v* -queue:other")
        let sentences = query.unknownQueues(of: ["mail", "video"])
        #expect(sentences == ["there is no queue \"mial\"; did you mean \"mail\"?"])
    }

    @Test("A group matches its members, and nothing until they are known")
    func groups() async throws {
        let member = DependencyName(Self.id, queue: "mail")
        let other = DependencyName(Self.id, queue: "video")
        func resolved(_ text: String) async throws -> OperationQuery {
            var query = try OperationQuery(parsing: text)
            try await query.resolveGroups { $0 == "mail/A" ? [member] : [other] }
            return query
        }
        for (text, isMatch) in [
            ("group:mail/A", true), ("group:B", false), ("group:B,mail/A", true), ("-group:mail/A", false),
            ("-group:B", true), ("group:mail/A group:B", false), ("group:mail/A state:ready", false),
        ] {
            #expect(try await resolved(text).matches(detail(), now: Self.now) == isMatch, "\(text)")
            #expect(try !matches(text, detail()), "\(text)")
        }
        #expect(try await resolved("group:mail/A,B").named == [member, other])
        #expect(try await resolved("group:mail/A group:B").named == [])
        #expect(try await resolved("-group:mail/A").named == nil)
        #expect(throws: QueryError.self) { try OperationQuery(parsing: "group:A*") }
        #expect(throws: QueryError.self) { try OperationQuery(parsing: "group:") }
    }

    @Test("id: accepts an id, its end, or the text of an --id, each with or without its queue")
    func ids() throws {
        let id = Self.id.description
        for text in [
            "id:\(id)", "id:\(id.lowercased())", "id:mail/\(id)", "id:…QK2MX7", "id:mail/QK2MX7", "id:other,*mx7",
        ] {
            #expect(try matches(text, detail()), "\(text)")
            #expect(try !matches("-" + text, detail()), "\(text)")
        }
        for text in ["id:video/\(id)", "id:video/QK2MX7", "id:K2MX7"] {
            #expect(try !matches(text, detail()), "\(text)")
        }
        var own = detail()
        own.record.header = OperationHeader(id: OperationID(key: "import-2026"))
        #expect(try matches("id:import-2026", own) && !matches("id:import-2027", own))
    }

    @Test("A looked-up value of id: replaces the term, while ends and patterns are searched for")
    func lookedUp() throws {
        let id = Self.id
        func resolved(_ text: String) throws -> OperationQuery {
            var query = try OperationQuery(parsing: text)
            query.resolveNames { typed in
                let isFound = ["\(id)", "IMPORT-2026"].contains(typed.pattern.text)
                return isFound ? [DependencyName(id, queue: "mail")] : []
            }
            return query
        }
        let found: Set = [DependencyName(id, queue: "mail")]
        for text in ["id:\(id)", "id:import-2026", "id:\(id),import-2026 state:dead"] {
            let query = try resolved(text)
            #expect(query.named == found && query.typedNames.isEmpty, "\(text)")
            #expect(query.matches(detail(), now: Self.now))
        }
        for text in ["id:QK2MX7", "id:01J9*", "id:\(id),QK2MX7", "id:\(id),other", "-id:\(id)"] {
            let query = try resolved(text)
            #expect(query.named == nil && query.states.count == OperationState.allCases.count, "\(text)")
            #expect(query.matches(detail(), now: Self.now) != text.hasPrefix("-"), "\(text)")
        }
        // Only operations that have not ended may lack a record.
        #expect(try resolved("id:other").named == nil)
        #expect(try resolved("id:other").states.allSatisfy { !$0.isTerminal })
    }

    @Test("A quoted part of a path may contain dots, colons, blanks and quotes")
    func quotedPaths() throws {
        let detail = detail(arguments: #"{"a.b":1,"c:d":{"e f":2},"g\"h":3,"i":{"j.k":[4]}}"#)
        for text in [
            #"args."a.b":1"#, #"args."c:d"."e f":2"#, #"args.'g"h':3"#, #"args."g\"h":3"#, #"args.i."j.k".0:4"#,
        ] {
            #expect(try matches(text, detail), "\(text)")
        }
        #expect(try !matches("args.a.b:1", detail))
    }

    @Test(
        "A comparison that would match nothing is refused with the correct form",
        arguments: [
            ("args.n:>x", "args.n:>41"), ("args.n:=41", "args.n:42 (equal)"), ("args.n:!=41", "-args.n:42 (not equal)"),
            ("args.n:>1,2", "args.n:>41"), ("name:>a", #"name:">a""#), ("tag:<5", "tag:\"<5\""),
            (#"args."a.b""#, "args."),
            (#"args."a.b":"#, "VALUE"), ("args.:1", "args.PATH"), (#"args.a."":1"#, "args.PATH"),
        ]
    )
    func comparisons(text: String, advice: String) {
        let error = #expect(throws: QueryError.self) { try OperationQuery(parsing: text) }
        #expect(
            error?.fix.contains(advice) == true || error?.message.contains(advice) == true,
            "\(String(describing: error))"
        )
    }

    @Test("Escapes in stored JSON do not hide a value")
    func escapes() throws {
        #expect(try matches("args.user:Ann", detail(arguments: #"{"user":"\u0041nn"}"#)))
    }

    @Test("An envelope that cannot be parsed has the name unreadable")
    func unreadable() throws {
        var detail = detail()
        detail.record.envelope = Array("not json".utf8)
        #expect(try matches("name:unreadable", detail) && matches("name:unread*", detail))
        #expect(try !matches("name:SendEmail", detail))
        #expect(try OperationQuery(parsing: "name:unread*").sought(PayloadView()) == nil)
        #expect(try OperationQuery(parsing: "-name:a name:b* tag:c").sought(PayloadView()) == SoughtText([["b", ""]]))
    }

    @Test("Encrypted arguments without a key are unread, but other fields are compared")
    func encrypted() throws {
        var envelope = OperationEnvelope(name: "SendEmail", arguments: Array(#""AAAA""#.utf8), tags: ["vip"])
        envelope.encryptionKey = "k1"
        var detail = detail()
        detail.record.envelope = envelope.encoded()
        for (text, match) in [
            ("args.user.id:42", QueryMatch.unread), ("-args.user.id:42", .unread), ("lee", .unread), ("-lee", .unread),
            ("args.user.id:42 tag:x", .no), ("vip", .yes), ("-vip", .no), ("tag:vip", .yes),
        ] {
            #expect(try OperationQuery(parsing: text).match(detail, now: Self.now) == match, "\(text)")
        }
    }

    @Test("Hidden arguments match only as ***")
    func redacted() throws {
        let view = PayloadView(redaction: try Redaction(parsing: "args.user.name", hidesAll: false))
        // A search in the stored arguments would tell hidden values.
        #expect(try OperationQuery(parsing: "args.user.name:a").sought(view) == nil)
        #expect(try OperationQuery(parsing: "args.user.name:a").sought(PayloadView()) != nil)
        let query = try OperationQuery(parsing: "args.user.name:'Ann Lee'")
        #expect(query.match(detail(), now: Self.now, view: view) == .no)
        #expect(try OperationQuery(parsing: "lee").match(detail(), now: Self.now, view: view) == .no)
    }

    @Test("A tag from -t is compared literally, only queries have patterns", arguments: ["v1*", "v10-prod", "*", ""])
    func exactTags(tag: String) throws {
        let detail = detail(tags: [tag])
        for asked in ["v1*", "v10-prod", "*", ""] {
            var query = try OperationQuery(parsing: "")
            query.terms.append(.tags(["other", asked]))
            #expect(query.matches(detail, now: Self.now) == (tag == asked), "-t \(asked)")
        }
        #expect(try matches("tag:v1*", detail) == tag.hasPrefix("v1"))
    }

    @Test(
        "An invalid query is refused with a suggestion",
        arguments: [
            ("stat:dead", "did you mean \"state\"?"), ("state:raedy", "did you mean \"ready\"?"),
            ("dead", "is a state"), ("queue:", "no value"), ("tag:a,,b", "no value"),
            ("priority:urgent", "unknown priority"), ("priority:hihg", "did you mean \"high\"?"),
            ("age:10m", "needs a comparison"), ("age:>10", "unit is missing"), ("args:42", "not a field"),
            ("args.:42", "not a field"), ("state.x:dead", "not a field"), ("error:\"timed", "not closed"),
            ("http://h", "unknown field"),
        ]
    )
    func mistakes(text: String, part: String) {
        let error = #expect(throws: QueryError.self) { try OperationQuery(parsing: text) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test(
        "A word of a command line with a known field is a term",
        arguments: [
            ("-tag:test", true), ("!args.user.id:1", true), ("-o:json", false), ("--tag:x", true), ("-w", false),
        ]
    )
    func terms(word: String, isTerm: Bool) { #expect(OperationQuery.isTerm(word) == isTerm) }
}
