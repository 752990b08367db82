import Selectors
import Testing

@Suite(.timeLimit(.minutes(60)))
struct SuggestionTests {
    @Test("A typing error is recognised, but another word is not")
    func nearest() {
        let queues = ["mail", "video", "reports"]
        #expect(Suggestion.nearest(to: "mial", among: queues) == "mail")
        #expect(Suggestion.nearest(to: "vidoe", among: queues) == "video")
        #expect(Suggestion.nearest(to: "MAIL", among: queues) == "mail")
        #expect(Suggestion.nearest(to: "xyz", among: queues) == nil)
        #expect(Suggestion.nearest(to: "", among: queues) == nil)
    }

    @Test("A prefix beats a typing error, and suggests the shortest word")
    func beginnings() {
        let options = ["--args", "--priority", "--program", "--pri"]
        #expect(Suggestion.nearest(to: "--prio", among: options) == "--priority")
        #expect(Suggestion.nearest(to: "--pr", among: options) == "--pri")
        #expect(Suggestion.nearest(to: "--p", among: ["--priority"]) == nil, "a letter is too little")
        #expect(Suggestion.nearest(to: "MAI", among: ["maildir", "mail"]) == "mail")
    }

    @Test(
        "The distance counts insertions, deletions, replacements and swaps",
        arguments: [
            ("", "", 0), ("a", "", 1), ("abc", "acb", 1), ("kitten", "sitting", 3), ("same", "same", 0),
        ]
    )
    func distance(left: String, right: String, wanted: Int) {
        #expect(Suggestion.distance(left, right) == wanted)
        #expect(Suggestion.distance(right, left) == wanted)
    }
}
