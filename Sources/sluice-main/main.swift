import SluiceCLI

#if Dashboard
    private let dashboard: [any Verb.Type] = [DashboardVerb.self]
#else
    private let dashboard: [any Verb.Type] = []
#endif

await SluiceMain.run(adding: dashboard)
