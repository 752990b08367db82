import Dispatch
import Foundation

/// What Ctrl-C says while a command only waits: the work itself goes on.
final class InterruptNote {
    private let source: any DispatchSourceSignal
    private let former = signal(SIGINT, SIG_IGN)

    /// Says the note and ends the process at SIGINT, until this is dropped.
    init(_ note: String, on console: Console) {
        source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global(qos: .userInteractive))
        source.setEventHandler {
            console.note(note)
            exit(ExitStatus.interrupted.rawValue)
        }
        source.resume()
    }

    deinit {
        source.cancel()
        signal(SIGINT, former)
    }
}
