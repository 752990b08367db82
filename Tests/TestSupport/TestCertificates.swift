import Foundation

/// A certificate authority and a server's certificate for `localhost` and 127.0.0.1, made with the `openssl` command.
package struct TestCertificates: Sendable {
    package let directory: String

    package var authority: String { directory + "/ca.pem" }
    package var serverCertificate: String { directory + "/server.pem" }
    package var serverKey: String { directory + "/server.key" }

    /// - Parameters:
    ///   - names: the subject alternative names, in OpenSSL's syntax.
    ///   - isExpired: whether the server's certificate expired yesterday.
    package init(in directory: String, names: String = "DNS:localhost,IP:127.0.0.1", isExpired: Bool = false) throws {
        self.directory = directory
        try run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=sluice test authority", "-keyout", directory + "/ca.key", "-out", authority,
            ]
        )
        try run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=\(names)", "-addext", "basicConstraints=CA:FALSE",
                "-CA", authority, "-CAkey", directory + "/ca.key", "-keyout", serverKey, "-out", serverCertificate,
            ]
        )
        if isExpired { try expire(names) }
    }

    /// Makes the authority sign the certificate again with a validity in the past.
    private func expire(_ names: String) throws {
        let request = directory + "/server.csr"
        try run("openssl", ["x509", "-x509toreq", "-in", serverCertificate, "-signkey", serverKey, "-out", request])
        let extensions = directory + "/server.ext"
        try "subjectAltName=\(names)\n".write(toFile: extensions, atomically: true, encoding: .utf8)
        try run(
            "openssl",
            [
                "x509", "-req", "-in", request, "-CA", authority, "-CAkey", directory + "/ca.key", "-CAcreateserial",
                "-days", "-1", "-extfile", extensions, "-out", serverCertificate,
            ]
        )
    }

    /// Lines of redis.conf for a TLS port; clients need no certificate.
    package func lines(port: Int) -> [String] {
        [
            "tls-port \(port)", "tls-cert-file \(serverCertificate)", "tls-key-file \(serverKey)",
            "tls-ca-cert-file \(authority)", "tls-auth-clients no",
        ]
    }
}
