import Selectors
import Testing

@Suite(.timeLimit(.minutes(60)))
struct ErrorSignatureTests {
    @Test(
        "Numbers, ids and quoted texts are replaced, but words are not",
        arguments: [
            ("timed out after 30s", "E: timed out after Ns"),
            ("status 503 of \"https://h/1?a=2\", try 2", "E: status 503 of \"…\", try N"),
            ("cannot reach 10.0.0.5:6379: refused", "E: cannot reach N: refused"),
            ("user 01J9ZM2Q000000000000QK2MX7 is gone", "E: user ID is gone"),
            ("job 6fa459ea-ee8a-3ca4-894e-db77e160355e lost on h3/w2-x", "E: job ID lost on hN/wN-x"),
            ("can't read it, isn't there", "E: can't read it, isn't there"),
            ("'a b' is not 'b'", "E: '…' is not '…'"), ("no row '12' for 'a b'", "E: no row '…' for '…'"),
            ("first\nsecond 1", "E: first"),
            ("deadbeef", "E: deadbeef"), ("deadbee7", "E: ID"), ("1.5 of 2,000.", "E: N of N."), ("", "E: "),
        ]
    )
    func signatures(message: String, signature: String) {
        #expect(ErrorSignature.of(type: "E", message: message) == signature)
    }

    @Test(
        "Codes stay, because they are the diagnosis",
        arguments: [
            ("HTTP 404", "E: HTTP 404"),
            ("HTTP/1.1 503 in 20 ms", "E: HTTP/1.1 503 in N ms"),
            ("SMTP 550 5.1.1 mailbox 12", "E: SMTP 550 5.1.1 mailbox N"),
            ("exit code 3 after 5 s", "E: exit code 3 after N s"),
            ("was ended by signal 9", "E: was ended by signal 9"),
            ("[Errno 13] denied: 17", "E: [Errno 13] denied: N"),
            ("errno=2", "E: errno=2"),
            ("SQLSTATE[42P01]: no table", "E: SQLSTATE[42P01]: no table"),
            ("E11000 duplicate key 7", "E: E11000 duplicate key N"),
            ("ORA-00942 at 3", "E: ORA-00942 at N"),
            ("ERROR 1062 (23000): 'a@b' twice", "E: ERROR 1062 (23000): '…' twice"),
            ("KeyError: 'email'", "E: KeyError: 'email'"),
            ("status 1732872372", "E: status ID"),
            ("code 01J9ZM2Q000000000000QK2MX7", "E: code ID"),
            ("exit, 5 left", "E: exit, N left"),
            ("ended with exit code 1: 10:42:07 lost", "E: ended with exit code 1: N lost"),
            ("http://10.0.0.5:6379/x", "E: http://N/x"),
            ("status 10.0.0.5", "E: status N"),
            ("Error: 17 rows failed", "E: Error: N rows failed"),
            ("exit code: 3", "E: exit code: 3"),
            ("status=503", "E: status=503"),
            ("exit code 1 5 times", "E: exit code 1 N times"),
            ("column \"price\" of 'Smith'", "E: column \"price\" of '…'"),
            ("no customer 'Smith'", "E: no customer '…'"),
            ("'email'", "E: 'email'"),
        ]
    )
    func codes(message: String, signature: String) {
        #expect(ErrorSignature.of(type: "E", message: message) == signature)
    }

    @Test("A signature is short")
    func short() {
        let signature = ErrorSignature.of(type: "E", message: String(repeating: "long ", count: 1_000))
        #expect(signature.count < 200 && signature.hasSuffix("…"))
    }
}
