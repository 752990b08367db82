import SluiceTesting
import Testing

private struct Square: DistributedOperation {
    static let name = "square"
    var number: Int
    func main(_ context: OperationContext) async throws -> Int { number * number }
}

/// Tests that closures run in the isolation of the calling function, so that they may use isolated state.
@Suite(.timeLimit(.minutes(60)))
struct IsolationTests {
    /// A class that is not Sendable, so that a closure on another executor would not compile.
    private final class Notes { var numbers: [Int] = [] }

    private actor Squarer {
        private let notes = Notes()

        func run(_ sluice: InMemorySluice) async throws -> [Int] {
            try await sluice.withWorker {
                notes.numbers += try await sluice.client.map([1, 2]) { number in
                    notes.numbers.append(number)
                    return Square(number: number)
                }
                let group = try await sluice.client.withGroup("squares") { group in
                    notes.numbers.append(3)
                    try await group.enqueue(Square(number: 3))
                }
                notes.numbers.append(group.id.description.count)
            }
            return notes.numbers
        }
    }

    @Test("map, withGroup and withWorker can be called from the main actor with values that are not Sendable")
    @MainActor func fromMainActor() async throws {
        let sluice = InMemorySluice { $0.register(Square.self) }
        let notes = Notes()
        try await sluice.withWorker {
            notes.numbers += try await sluice.client.map([1, 2]) { number in
                notes.numbers.append(number)
                return Square(number: number)
            }
            _ = try await sluice.client.withGroup("squares") { group in
                MainActor.assertIsolated()
                notes.numbers.append(3)
                try await group.enqueue(Square(number: 3))
            }
        }
        #expect(notes.numbers == [1, 2, 1, 4, 3])
    }

    @Test("map, withGroup and withWorker can be called from an actor")
    func fromActor() async throws {
        let sluice = InMemorySluice { $0.register(Square.self) }
        #expect(try await Squarer().run(sluice) == [1, 2, 1, 4, 3, 26])
    }
}
