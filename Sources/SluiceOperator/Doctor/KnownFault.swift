/// A vulnerability of released servers in features that Sluice uses: scripts, blocking reads, TLS.
package struct KnownFault: Sendable {
    /// The CVE number.
    package var name: String
    package var text: String
    /// The affected versions: from the first of a pair up to, but not including, the second.
    package var ranges: [(from: ServerVersion, to: ServerVersion)]

    package func concerns(_ version: ServerVersion) -> Bool {
        ranges.contains { $0.from <= version && version < $0.to }
    }

    package static let all = [scripts, unblocking, pendingTLS]

    /// https://github.com/redis/docker-library-redis/pull/478 (6.2.20, 7.2.11, 7.4.6),
    /// https://redis.io/blog/security-advisory-cve-2025-49844/.
    ///
    /// The same releases fix CVE-2025-46817, 46818 and 46819, and contain the fixes of older vulnerabilities of the
    /// script engine (CVE-2022-24834, CVE-2024-31449, CVE-2024-46981).
    private static let scripts = KnownFault(
        name: "CVE-2025-49844",
        text:
            "a user with permission for scripts can run code on the server (CVE-2025-49844, with 46817, 46818 and 46819); "
            + "fixed in 6.2.20, 7.2.11, 7.4.6, 8.0.4 and 8.2.2",
        ranges: [
            (ServerVersion(0, 0, 0), ServerVersion(6, 2, 20)), (ServerVersion(7, 0, 0), ServerVersion(7, 2, 11)),
            (ServerVersion(7, 4, 0), ServerVersion(7, 4, 6)), (ServerVersion(8, 0, 0), ServerVersion(8, 0, 4)),
            (ServerVersion(8, 2, 0), ServerVersion(8, 2, 2)),
        ]
    )

    /// https://github.com/redis/redis/security/advisories/GHSA-93m2-935m-8rj3 (from 7.2.0 until 8.6.3),
    /// https://github.com/redis/redis/releases/tag/7.2.14,
    /// https://github.com/redis/docs/pull/3292 (7.4.9, 8.2.6, 8.4.3, 8.6.3).
    ///
    /// The sources name no fixed release of 8.0.
    private static let unblocking = KnownFault(
        name: "CVE-2026-23479",
        text:
            "evicting a blocked client can let others run code on the server (CVE-2026-23479; workers block with BLPOP; "
            + "only with maxmemory-clients); fixed in 7.2.14, 7.4.9, 8.2.6, 8.4.3 and 8.6.3",
        ranges: [
            (ServerVersion(7, 2, 0), ServerVersion(7, 2, 14)), (ServerVersion(7, 4, 0), ServerVersion(7, 4, 9)),
            (ServerVersion(8, 0, 0), ServerVersion(8, 2, 6)), (ServerVersion(8, 4, 0), ServerVersion(8, 4, 3)),
            (ServerVersion(8, 6, 0), ServerVersion(8, 6, 3)),
        ]
    )

    /// https://github.com/cisagov/CSAF (VA-26-239-01), CVE-2026-81934.
    ///
    /// The advisory names the releases with the fix, but not the affected older lines.
    private static let pendingTLS = KnownFault(
        name: "CVE-2026-81934",
        text: "with TLS, any client that can connect can run code on the server (CVE-2026-81934); "
            + "fixed in 8.2.9, 8.4.6, 8.6.6, 8.8.2 and 8.10.1",
        ranges: [
            (ServerVersion(8, 2, 0), ServerVersion(8, 2, 9)), (ServerVersion(8, 4, 0), ServerVersion(8, 4, 6)),
            (ServerVersion(8, 6, 0), ServerVersion(8, 6, 6)), (ServerVersion(8, 8, 0), ServerVersion(8, 8, 2)),
            (ServerVersion(8, 10, 0), ServerVersion(8, 10, 1)),
        ]
    )
}
