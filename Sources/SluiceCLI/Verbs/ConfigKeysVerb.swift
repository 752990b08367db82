import ArgumentParser
import Foundation
import OperationKeys
import Operations
import TerminalText

package struct ConfigKeysVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "keys",
            abstract: "Make a file of keys that sign operations and, if wanted, encrypt their arguments.",
            discussion: """
                EXAMPLES
                  \(Program.name) config keys sluice.keys --encrypt
                  \(Program.name) enqueue SendEmail to=a@example.org --keys-file sluice.keys
                  SLUICE_KEYS_FILE=sluice.keys \(Program.name) worker

                The file has mode 600 and lines "sign ID KEY" and "encrypt ID KEY". The first key of a role signs or encrypts, all of
                them verify and decrypt. Every command takes it by --keys-file or SLUICE_KEYS_FILE; SLUICE_KEYS holds such lines itself.
                A worker that has a sign key never runs what is not signed with one of its keys: it becomes dead, with the reason.
                To change a key: add the new line below the old one where workers run; put it first where producers run; once nothing
                that the old one signed is left, remove that.
                """
        )
    }

    @Argument(help: "The file to make; one that is there stays as it is.")
    var file: String
    @Flag(help: "Also make a key that encrypts arguments.")
    var encrypt = false
    @Option(help: ArgumentHelp("The id of the keys (today's date).", valueName: "id"))
    var id: String?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        if let id { try NameRule.check(id, role: "key id") }
        guard (id?.utf8.count ?? 1) <= 64 else { throw CLIError.usage("--id is too long", fix: "up to 64 characters") }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let today = String(TimeText.rfc3339(invocation.localNow).prefix(10))
        let text = OperationKeys.newFile(id: id ?? today, encrypts: encrypt)
        let name = OperationsError.quoted(file)
        // Never readable for others, not even while it is written; and no keys are ever overwritten.
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw CLIError(.refused, "cannot make the keys file \(name): \(reason)", fix: "another file name")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do { try handle.write(contentsOf: Data(text.utf8)) } catch {
            throw CLIError(.refused, "cannot write the keys file \(name)", fix: "another place")
        }
        invocation.console.note("made \(name); give it to producers and workers, keep a copy, show it to nobody")
        return .done
    }
}
