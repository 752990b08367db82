import Operations
import Testing

@Suite("Passwords in addresses", .timeLimit(.minutes(60)))
struct URLPasswordsTests {
    @Test(
        "A password in a URL is hidden anywhere in a text; other text stays",
        arguments: [
            ("http://user:pw@host/", "http://user:***@host/"),
            (
                "see https://u:p%40w@h:8080/a?b=c@d and redis://:pw@h.",
                "see https://u:***@h:8080/a?b=c@d and redis://:***@h."
            ),
            ("HTTP://a:b:c@h", "HTTP://a:***@h"), ("http://u:p@w@h/", "http://u:***@h/"),
            ("http://u:@h", "http://u:***@h"),
            ("https://token@h/x", "https://***@h/x"), ("ssh://git@h/x", "ssh://git@h/x"),
            ("http://u:p/w@h/x", "http://u:***@h/x"), ("http://u:p#w?@h", "http://u:***@h"),
            ("--db=postgres://ä:ß@h/d", "--db=postgres://ä:***@h/d"), (#"{"u":"x://a:b@c"}"#, #"{"u":"x://a:***@c"}"#),
            ("a://b:c@d://e:f@g", "a://b:***@d://e:***@g"), ("x://u:p@h x://u:q@h", "x://u:***@h x://u:***@h"),
            ("http://h/a@b", "http://h/a@b"), ("http://h:80/a@b", "http://h:80/a@b"),
            ("http://h:/a@b", "http://h:/a@b"),
            ("http://[::1]:80/a@b", "http://[::1]:80/a@b"), ("http://u:p@[::1]/", "http://u:***@[::1]/"),
            ("http:// u:p@h", "http:// u:p@h"), ("user:pw@host", "user:pw@host"), ("://", "://"), ("@", "@"), ("", ""),
            ("x://@h", "x://@h"), ("://u:p@h", "://u:***@h"), ("://://@", "://://@"),
        ]
    )
    func texts(text: String, shown: String) {
        #expect(URLPasswords.masked(text) == shown)
    }

    @Test("A password is hidden in stored arguments, however JSON escapes it; other JSON stays byte for byte")
    func arguments() throws {
        func shown(_ json: String) -> String {
            String(decoding: URLPasswords.masked(json: Array(json.utf8)), as: UTF8.self)
        }
        #expect(
            shown(#"{"argv":["curl","http://u:p@h/"],"n":9007199254740993}"#)
                == #"{"argv":["curl","http://u:***@h/"],"n":9007199254740993}"#
        )
        #expect(shown(#"{"url":"http:\/\/u:p@h"}"#) == #"{"url":"http://u:***@h"}"#)
        #expect(shown(#"{"url":"http://u:p\u0040h"}"#) == #"{"url":"http://u:***@h"}"#)
        for same in [#"{ "a" : "b@c", "d" : "e\/f" }"#, #"{"a": 1}"#, ""] { #expect(shown(same) == same) }
        #expect(shown("no json http://u:p@h") == "no json http://u:***@h")
    }

    @Test("A shown operation and quoted errors hide the password; the stored operation keeps it")
    func views() {
        let arguments = Array(#"{"url":"http://user:pw@h/"}"#.utf8)
        let stored = OperationEnvelope(name: "http", arguments: arguments).encoded()
        let reading = EnvelopeReading(stored, id: OperationID(), queue: "default")
        #expect(reading.envelope.arguments == Array(#"{"url":"http://user:***@h/"}"#.utf8))
        #expect((try? OperationEnvelope(stored))?.arguments == arguments)
        #expect(OperationsError.quoted("http://user:pw@h/") == #""http://user:***@h/""#)
    }
}
