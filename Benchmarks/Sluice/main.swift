import SluiceCLI

if CommandLine.arguments.dropFirst().first == BenchRig.worker {
    // A rig starts this program again as a worker.
    await SluiceMain.run(BenchOperations.register)
} else {
    await SluiceMain.run(only: BenchVerb.self)
}
