import Operations
import Selectors
import Testing

@testable import SluiceDashboard

@Suite("HTML", .timeLimit(.minutes(60)))
struct MarkupTests {
    @Test(
        "Text is escaped in content and in attributes",
        arguments: [
            "<script>alert(1)</script>", "\" onload=\"x", "' onload='x", "</title><script>", "&lt;", "<!--", "]]>",
            "javascript:alert(1)", "\u{0}<b>",
        ]
    )
    func escapes(_ text: String) {
        let html = tag("p", .title(text), .value(text), .named("data-x", text), text: text).html
        let inside = html.dropFirst("<p".count).dropLast("</p>".count)
        #expect(inside.filter { $0 == "<" }.isEmpty)
        #expect(inside.filter { $0 == ">" }.count == 1)
        #expect(inside.filter { $0 == "\"" }.count == 6)
        #expect(!inside.contains("'"))
    }

    @Test("Control characters and bidirectional controls become visible, except in values of fields")
    func controls() {
        #expect(Markup(text: "a\u{1b}[31m\u{202e}b\nc").html == "a\\x1b[31m\\u202eb\\nc")
        #expect(Markup(block: "a\nb\u{1b}").html == "a\nb\\x1b")
        #expect(void("input", .value("a\u{202e}\nb")).html == "<input value=\"a\u{202e}\nb\">")
    }

    @Test("Strings in a builder are text, and parts keep their order")
    func builder() {
        let names = ["<a>", "b"]
        let html = tag("ul") {
            "&"
            for name in names { tag("li", text: name) }
            if names.isEmpty { "none" } else { "some" }
        }.html
        #expect(html == "<ul>&amp;<li>&lt;a&gt;</li><li>b</li>some</ul>")
    }

    @Test(
        "Names round-trip through links and fields",
        arguments: ["a/b", "a.b", "..", "50%", "a?b#c", "a b+c&d=e", "ü€😀", "\"'<>", "a\\b", "a:b", "%2F", ""]
    )
    func links(_ name: String) throws {
        let link = Links(basePath: "/jobs").to("ops", name, query: ["q": name, "empty": ""])
        #expect(link.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"'<>\\".utf8.contains($0) })
        #expect(link.text.hasPrefix("/jobs/ops/"))
        let parts = link.text.split(separator: "?", omittingEmptySubsequences: false)
        let fields = FormFields(parts.count > 1 ? String(parts[1]) : "")
        #expect(fields["q"] == (name.isEmpty ? nil : name))
        #expect(fields["empty"] == nil)
    }

    @Test("Fields with wrong escapes stay text, and the first of a name counts")
    func fields() {
        let fields = FormFields("a=%zz&b=%4&c=1&c=2&d=%ff&&=x&e")
        #expect(fields["a"] == "%zz" && fields["b"] == "%4" && fields["c"] == "1" && fields["d"] == "\u{FFFD}")
        #expect(fields["e"] == nil)
    }

    @Test(
        "A page to return to is inside of the dashboard",
        arguments: [
            ("/jobs/ops?q=a%3Ab", true), ("/jobs/", true), ("/other", false), ("//evil.example", false),
            ("https://evil.example", false), ("/jobs//evil.example", false), ("/jobs/\\evil", false),
            ("/jobs/\r\nSet-Cookie: x", false), ("/jobsx", false),
        ]
    )
    func inside(_ text: String, _ isInside: Bool) {
        #expect((Links(basePath: "/jobs").inside(text) != nil) == isInside)
    }

    @Test(
        "A term of a query finds exactly the value",
        arguments: ["mail", "a b", "a*", "a,b", "say \"hi\"", "a\\b", "-x", "<5", "a:b"]
    )
    func terms(_ value: String) throws {
        let text = QueryText.term("tag", value)
        let query = try OperationQuery(parsing: text)
        #expect(query.terms == [.tags([value])], "\(text)")
    }

    @Test("The mark of an expired operation is a drawing, because few fonts have its character")
    func marks() {
        for state in OperationState.allCases {
            let html = StateMark.markup(state).html
            #expect(html.contains("<svg") == (state == .expired) && !html.contains("⧗") && html.contains("aria-hidden"))
        }
    }
}
