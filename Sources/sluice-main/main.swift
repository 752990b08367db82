import SluiceBench
import SluiceCLI

await SluiceMain.run(adding: [BenchVerb.self, TestWorkerVerb.self])
