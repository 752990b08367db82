import SluiceCLI

await SluiceMain.run()
