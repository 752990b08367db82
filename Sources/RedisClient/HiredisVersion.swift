import CHiredis

/// The reply parser's version.
package enum HiredisVersion {
    /// The version whose headers this program was built with.
    package static let text = "\(HIREDIS_MAJOR).\(HIREDIS_MINOR).\(HIREDIS_PATCH)"
}
