import Selectors

/// A line of text that the user types at the bottom of the screen.
package struct Prompt: Sendable, Equatable {
    package enum Purpose: Sendable {
        /// The filter of the operations screen.
        case filter
        /// The filter of the events screen: a text in its lines.
        case events
        /// A text to search for in rows or in the log.
        case search
    }

    static let longest = 500

    package var purpose: Purpose
    package var text: String
    /// The error in the text; nil = none.
    package var error: String?
}

/// Edits a text with keys.
enum TextField {
    /// - Returns: whether the key belongs to the field.
    static func edit(_ text: inout String, _ key: Key, longest: Int) -> Bool {
        switch key {
        case .character(let character): if text.count < longest { text.append(character) }
        case .backspace: _ = text.popLast()
        case .control("u"): text = ""
        case .control("w"):
            while text.last == " " { text.removeLast() }
            while let last = text.last, last != " " { text.removeLast() }
        default: return false
        }
        return true
    }
}

extension MonitorModel {
    mutating func askForText() {
        prompt =
            screen == .events
            ? Prompt(purpose: .events, text: events.filter) : Prompt(purpose: .filter, text: operations.filterText)
    }

    /// Handles a key while the user types a text.
    mutating func answer(_ prompt: Prompt, _ key: Key) -> [MonitorCommand] {
        if TextField.edit(&self.prompt!.text, key, longest: Prompt.longest) {
            self.prompt?.error = nil
            return []
        }
        switch key {
        case .escape: self.prompt = nil
        case .enter: return accept(prompt)
        default: break
        }
        return []
    }

    private mutating func accept(_ prompt: Prompt) -> [MonitorCommand] {
        switch prompt.purpose {
        case .filter:
            do { try operations.filter(prompt.text) } catch {
                self.prompt?.error = error.description
                return []
            }
            selection.reset(among: items)
        case .events: events.filter = prompt.text
        case .search:
            searched = prompt.text
            self.prompt = nil
            if !searched.isEmpty { search(forward: true) }
            return []
        }
        self.prompt = nil
        return [.refresh]
    }
}
