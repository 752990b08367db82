import Testing

@testable import BuiltinOperations

@Suite("A program's environment", .timeLimit(.minutes(60)))
struct ProgramEnvironmentTests {
    private let worker = [
        "PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "LANG": "C", "TZ": "UTC", "TMPDIR": "/t", "USER": "u", "LC": "no",
        "DATABASE_URL": "d", "AWS_KEY": "k", "AWS_ID": "i", "SLUICE_REDIS_URL": "r", "PATHS": "no",
    ]

    @Test("A program gets the standard variables, and others by name or prefix")
    func selection() {
        let standard: Set = ["PATH", "HOME", "LC_ALL", "LANG", "TZ", "TMPDIR", "USER"]
        func names(_ patterns: String...) -> Set<String> {
            Set(ProgramEnvironment(passing: patterns).selected(from: worker).keys)
        }
        #expect(names() == standard)
        #expect(names("DATABASE_URL", "MISSING") == standard.union(["DATABASE_URL"]))
        #expect(names("AWS_*") == standard.union(["AWS_KEY", "AWS_ID"]))
        #expect(names("*") == Set(worker.keys))
    }

    @Test("Other texts are refused", arguments: ["A=b", "", "1A", "A B", "A*B", "**", "Ä", "A-B", "A\n"])
    func wrongNames(text: String) {
        #expect(!ProgramEnvironment.isPattern(text))
    }

    @Test("Any variable name or prefix is accepted", arguments: ["A", "_", "a_1", "A*", "*", "A_*"])
    func names(text: String) {
        #expect(ProgramEnvironment.isPattern(text))
    }

    @Test("Every built-in operation is documented with its arguments")
    func reference() {
        #expect(Set(BuiltinReference.all.map(\.name)) == BuiltinOperations.names)
        for operation in BuiltinReference.all { #expect(operation.arguments?.isEmpty != true, "\(operation.name)") }
    }
}
