import ArgumentParser
import Foundation
import OperationKeys
import Operations
import SluiceOperator
import TerminalText

package struct ConfigKeysVerb: Verb {
    package static let formats: Set<OutputFormat> = .textOnly
    package static let effect = VerbEffect.adds

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "keys",
            abstract: "Make a file of keys that sign operations and, with --encrypt, encrypt their arguments.",
            discussion: """
                EXAMPLES
                  \(Program.name) config keys sluice.keys --encrypt
                  \(Program.name) enqueue SendEmail to=a@example.org --keys-file sluice.keys
                  SLUICE_KEYS_FILE=sluice.keys \(Program.name) worker

                The file has mode 600 and lines "sign ID KEY" and "encrypt ID KEY". The first key of a role signs or encrypts; all keys \
                verify and decrypt. Each command reads it by --keys-file or SLUICE_KEYS_FILE; SLUICE_KEYS holds such lines itself.
                A worker with a sign key never runs an operation that none of its keys signed: the operation becomes dead, with the reason.
                To change a key: add the new line below the old one for all workers, then put it first for all producers, and remove \
                the old line when no operation that it signed is left.
                """
        )
    }

    @Argument(help: "Make this file. An existing file is never changed.")
    var file: String
    @Flag(help: "Also make a key that encrypts arguments.")
    var encrypt = false
    @Option(help: ArgumentHelp("Set the id of the keys (today's date).", valueName: "id"))
    var id: String?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        if let id { try NameRule.check(id, role: "key id") }
        guard let count = id?.utf8.count, count > 64 else { return }
        throw CLIError.usage(
            "--id has \(count) characters, and at most 64 are allowed",
            fix: "\(Program.name) config keys sluice.keys --id 2026-11-25"
        )
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let today = String(TimeText.rfc3339(invocation.now).prefix(10))
        let text = OperationKeys.newFile(id: id ?? today, encrypts: encrypt)
        let name = OperationsError.quoted(file)
        // O_EXCL prevents overwriting existing keys. The mode protects the file from the start.
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw CLIError(.refused, "cannot create the keys file \(name): \(reason)", fix: "choose another file name")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do { try handle.write(contentsOf: Data(text.utf8)) } catch {
            throw CLIError(.refused, "cannot write the keys file \(name)", fix: "choose another folder")
        }
        invocation.console.note("made \(name); give it to producers and workers, keep a copy, and keep it secret")
        return .done
    }
}
