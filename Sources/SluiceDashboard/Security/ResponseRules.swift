/// The headers that restrict what a browser does with a response.
enum ResponseRules {
    /// Allows only files of this server: no inline script or style, no frame, no foreign address.
    static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
        "worker-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    /// The headers of every response.
    static let headers: KeyValuePairs<String, String> = [
        "Content-Security-Policy": contentSecurityPolicy,
        "X-Content-Type-Options": "nosniff",
        // Without a referrer, browsers would send `Origin: null` with forms.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    ]

    /// The caching of data.
    static let noStore = "no-store"
    /// The caching of files whose names change with their content.
    static let forever = "public, max-age=31536000, immutable"
}
