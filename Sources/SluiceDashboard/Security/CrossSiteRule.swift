/// Accepts a changing request only from a page of this dashboard.
///
/// Browsers say where a request comes from in `Sec-Fetch-Site`. On plain HTTP without a loopback name they omit that
/// header, and `Origin` must then name the requested host.
enum CrossSiteRule {
    /// - Parameters:
    ///   - isChanging: whether the method may change something: any but GET and HEAD.
    ///   - site: the header `Sec-Fetch-Site`.
    ///   - origin: the header `Origin`.
    ///   - host: the header `Host`.
    static func allows(isChanging: Bool, site: String?, origin: String?, host: String?) -> Bool {
        guard isChanging else { return true }
        if let site { return site == "same-origin" }
        guard let origin, let host, !host.isEmpty else { return false }
        return ["http://" + host, "https://" + host].contains { $0.lowercased() == origin.lowercased() }
    }
}
