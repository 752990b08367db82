import RedisClient
import Testing

@Suite("A Redis URL", .timeLimit(.minutes(60)))
struct EndpointTests {
    @Test(
        "names the server in every documented form",
        arguments: [
            ("redis://h", RedisEndpoint.tcp(host: "h")),
            ("redis://h/", .tcp(host: "h")),
            ("redis://h:6380/3", .tcp(host: "h", port: 6380, database: 3)),
            ("REDIS://h?db=4", .tcp(host: "h", database: 4)),
            ("redis://[::1]:7000/1", .tcp(host: "::1", port: 7000, database: 1)),
            ("redis://[fe80::1]", .tcp(host: "fe80::1")),
            ("redis://:secret@h", RedisEndpoint(address: .tcp(host: "h", port: 6379), password: "secret")),
            (
                "redis://u:p%40%2f%3a@h",
                RedisEndpoint(address: .tcp(host: "h", port: 6379), user: "u", password: "p@/:")
            ),
            ("redis://u:p@q@h", RedisEndpoint(address: .tcp(host: "h", port: 6379), user: "u", password: "p@q")),
            ("redis://u@h", RedisEndpoint(address: .tcp(host: "h", port: 6379), user: "u")),
            ("rediss://h", RedisEndpoint(address: .tcp(host: "h", port: 6379), tls: .init())),
            (
                "rediss://h:1/2?cacert=/a%20b.pem",
                RedisEndpoint(
                    address: .tcp(host: "h", port: 1),
                    database: 2,
                    tls: .init(caCertificateFile: "/a b.pem")
                )
            ),
            ("unix:///run/r.sock", .unix(path: "/run/r.sock")),
            (
                "redis+sentinel://a,b:1,[::1]:2/shop",
                RedisEndpoint(
                    address: .sentinels(
                        .init(
                            hosts: [.init("a", port: 26_379), .init("b", port: 1), .init("::1", port: 2)],
                            master: "shop"
                        )
                    )
                )
            ),
            (
                "rediss+sentinel://u:p@a/shop/3?cacert=/c&sentinel_user=v&sentinel_password=q%40",
                RedisEndpoint(
                    address: .sentinels(
                        .init(hosts: [.init("a", port: 26_379)], master: "shop", user: "v", password: "q@")
                    ),
                    user: "u",
                    password: "p",
                    database: 3,
                    tls: .init(caCertificateFile: "/c")
                )
            ),
            (
                "redis+cluster://u:p@a,b:1,[::1]:2",
                RedisEndpoint(
                    address: .cluster([.init("a", port: 6379), .init("b", port: 1), .init("::1", port: 2)]),
                    user: "u",
                    password: "p"
                )
            ),
            (
                "rediss+cluster://a/0?cacert=/c",
                RedisEndpoint(address: .cluster([.init("a", port: 6379)]), tls: .init(caCertificateFile: "/c"))
            ),
            ("unix:///run/r.sock?db=5", .unix(path: "/run/r.sock", database: 5)),
            (
                "unix://u:p@/run/r.sock",
                RedisEndpoint(address: .unix(path: "/run/r.sock"), user: "u", password: "p")
            ),
        ]
    )
    func valid(url: String, expected: RedisEndpoint) throws {
        #expect(try RedisEndpoint(url: url) == expected)
    }

    @Test(
        "is refused with the reason and without the password if it is wrong",
        arguments: [
            ("localhost:6379", "no scheme"),
            ("http://h", "scheme"),
            ("redis://", "no host"),
            ("redis://:s3cr3t@", "no host"),
            ("redis://h:0", "port"),
            ("redis://h:65536", "port"),
            ("redis://u:s3cr3t/x@h:1", "percent-encoded"),
            ("redis://h/x", "database"),
            ("redis://h/-1", "database"),
            ("redis://h?s3cr3t=1", "unknown option"),
            ("redis://h?cacert=/x", "rediss://"),
            ("redis://u:s3cr3t%zz@h", "percent-encoding"),
            ("redis://u:%ff@h", "UTF-8"),
            ("redis://[::1", "]"),
            ("unix://relative", "absolute path"),
            ("redis+sentinel://a,b", "no master"),
            ("redis+sentinel://a,/shop", "no host"),
            ("redis+sentinel://a:99999/shop", "port"),
            ("redis+sentinel://a/shop/x", "database"),
            ("redis://a?sentinel_password=s3cr3t", "redis+sentinel://"),
            ("redis+cluster://a,", "no host"),
            ("redis+cluster://a:x", "port"),
            ("redis+cluster://:s3cr3t@a/1", "has only database 0"),
            ("redis+cluster://a?db=2", "has only database 0"),
            ("unix://h/run/r.sock", "absolute path"),
        ]
    )
    func invalid(url: String, reason: String) async {
        let error = await redisError { _ = try RedisEndpoint(url: url) }
        #expect(error?.code == .badURL)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "no error")")
        #expect(error?.message.contains("s3cr3t") == false)
    }

    @Test(
        "takes another password for the user of its URL",
        arguments: [
            ("redis://h:6379/2", "redis://:p%40%2F%01@h:6379/2"), ("redis://u@h", "redis://u:p%40%2F%01@h"),
            ("unix://u:old@/r.sock?db=2", "unix://u:p%40%2F%01@/r.sock?db=2"),
            ("redis+cluster://a,[::1]:2", "redis+cluster://:p%40%2F%01@a,[::1]:2"),
        ]
    )
    func otherPassword(url: String, changed: String) throws {
        let found = RedisEndpoint.url(url, withPassword: "p@/\u{1}")
        #expect(found == changed)
        #expect(try RedisEndpoint(url: found).password == "p@/\u{1}")
        #expect(try RedisEndpoint(url: found).address == RedisEndpoint(url: url).address)
    }

    @Test(
        "prints itself with the password masked",
        arguments: [
            ("redis://user:secret@h:6379/0", "redis://user:***@h:6379/0"),
            ("redis://:secret@h", "redis://:***@h:6379/0"),
            ("rediss://u@[::1]:7/1", "rediss://u@[::1]:7/1"),
            ("unix://u:secret@/r.sock?db=2", "unix://u:***@/r.sock?db=2"),
            ("unix:///r.sock", "unix:///r.sock"),
            (
                "redis+sentinel://u:secret@a,[::1]:2/shop?sentinel_password=secret",
                "redis+sentinel://u:***@a:26379,[::1]:2/shop/0"
            ),
            ("redis+cluster://u:secret@a,[::1]:2", "redis+cluster://u:***@a:6379,[::1]:2/"),
        ]
    )
    func masked(url: String, description: String) throws {
        let endpoint = try RedisEndpoint(url: url)
        #expect(endpoint.description == description)
        #expect("\(RedisError(.server, "x", endpoint: "\(endpoint)"))".contains("secret") == false)
    }
}
