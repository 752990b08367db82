import Dispatch
import Foundation

/// Prints a note when Ctrl-C ends a command that only waits: the operations go on.
final class InterruptNote {
    private let source: any DispatchSourceSignal
    private let former = signal(SIGINT, SIG_IGN)

    /// Prints the note and ends the process at SIGINT, until this object is released.
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
