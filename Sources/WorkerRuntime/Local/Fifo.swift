/// A first-in, first-out line with constant-time ends.
struct Fifo<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        defer {
            elements[head] = nil
            head += 1
            if head == elements.count || (head > 64 && head > elements.count / 2) {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head]
    }

    /// Removes and returns every element that fulfils the condition, in order.
    mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        let all = elements[head...].compactMap { $0 }
        head = 0
        elements = all.filter { !condition($0) }
        return all.filter(condition)
    }

    mutating func removeAll() -> [Element] { removeAll { _ in true } }
}
