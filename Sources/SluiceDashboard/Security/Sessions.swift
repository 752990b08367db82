import Crypto
import Foundation
import Synchronization

/// Login links and the sessions that they open. Both are kept in memory, so they end with the process.
final class Sessions: Sendable {
    /// A session ends when it was not used for this time.
    static let idle = Duration.seconds(12 * 3_600)
    /// The most sessions. The one that was unused the longest ends when there are more.
    static let most = 1_000

    private struct Session {
        var visitor: Visitor
        var usedAt: ContinuousClock.Instant
    }

    private struct State {
        /// Links and sessions by the digest of their secret, so that comparing them takes no time that depends on it.
        var links: [Data: Visitor] = [:]
        var sessions: [Data: Session] = [:]

        mutating func open(for visitor: Visitor, at now: ContinuousClock.Instant) -> String {
            let secret = Sessions.newSecret()
            sessions[Sessions.digest(secret)] = Session(visitor: visitor, usedAt: now)
            while sessions.count > Sessions.most,
                let oldest = sessions.min(by: { $0.value.usedAt < $1.value.usedAt })
            {
                sessions[oldest.key] = nil
            }
            return secret
        }
    }

    private let state = Mutex(State())

    /// Makes the secret of a link that works once.
    func makeLink(for visitor: Visitor) -> String {
        let secret = Self.newSecret()
        state.withLock { $0.links[Self.digest(secret)] = visitor }
        return secret
    }

    /// Uses up a link.
    ///
    /// - Returns: the visitor whom the link is for; nil if it is unknown or was used.
    func redeem(_ secret: String) -> Visitor? {
        state.withLock { $0.links.removeValue(forKey: Self.digest(secret)) }
    }

    /// Opens a session for a visitor who has proved who it is, and returns its secret.
    func open(for visitor: Visitor, at now: ContinuousClock.Instant = .now) -> String {
        state.withLock { $0.open(for: visitor, at: now) }
    }

    /// Returns the visitor of a session; nil if it is unknown or has ended.
    func visitor(_ secret: String, at now: ContinuousClock.Instant = .now) -> Visitor? {
        state.withLock { state in
            let key = Self.digest(secret)
            guard var session = state.sessions[key] else { return nil }
            guard now - session.usedAt < Self.idle else {
                state.sessions[key] = nil
                return nil
            }
            session.usedAt = now
            state.sessions[key] = session
            return session.visitor
        }
    }

    /// Ends a session.
    func end(_ secret: String) { state.withLock { $0.sessions[Self.digest(secret)] = nil } }

    private static func digest(_ secret: String) -> Data { Data(SHA256.hash(data: Data(secret.utf8))) }

    /// 256 random bits from the system, as a word for URLs and cookies.
    private static func newSecret() -> String {
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        return Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
