import Operations

/// A failure as JSON.
enum APIError {
    static func object(_ failure: PageFailure) -> JSONValue {
        [
            "v": 1,
            "error": [
                "code": .number(failure.status.code), "message": .string(failure.message),
                "notes": .array(failure.notes.map { .string($0) }),
            ],
        ]
    }
}
