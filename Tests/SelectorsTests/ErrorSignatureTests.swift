import Selectors
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ErrorSignatureTests {
    @Test(
        "Numbers, ids and quoted texts are replaced, words are not",
        arguments: [
            ("timed out after 30s", "E: timed out after Ns"),
            ("status 503 of \"https://h/1?a=2\", try 2", "E: status N of \"…\", try N"),
            ("cannot reach 10.0.0.5:6379: refused", "E: cannot reach N: refused"),
            ("user 01J9ZM2Q000000000000QK2MX7 is gone", "E: user ID is gone"),
            ("job 6fa459ea-ee8a-3ca4-894e-db77e160355e lost on h3/w2-x", "E: job ID lost on hN/wN-x"),
            ("can't read it, isn't there", "E: can't read it, isn't there"),
            ("'a' is not 'b'", "E: '…' is not '…'"),
            ("first\nsecond 1", "E: first"),
            ("deadbeef", "E: deadbeef"), ("deadbee7", "E: ID"), ("1.5 of 2,000.", "E: N of N."), ("", "E: "),
        ]
    )
    func signatures(message: String, signature: String) {
        #expect(ErrorSignature.of(type: "E", message: message) == signature)
    }

    @Test("A signature is short")
    func short() {
        let signature = ErrorSignature.of(type: "E", message: String(repeating: "long ", count: 1_000))
        #expect(signature.count < 200 && signature.hasSuffix("…"))
    }
}
