/// Written by zone_table.py.
enum ZoneTable {
    struct Row { let zone, expression: String; let count, checksum: Int; let atChanges: [String] }
    static let rows = [
        Row(
            zone: "Europe/Berlin",
            expression: "30 2 * * *",
            count: 1826,
            checksum: 370178135,
            atChanges: ["2027-03-28T01:00Z", "2027-10-31T00:30Z"]
        ),
        Row(
            zone: "Europe/Berlin",
            expression: "0 3 * * *",
            count: 1826,
            checksum: 871687748,
            atChanges: ["2027-03-28T01:00Z", "2027-10-31T02:00Z"]
        ),
        Row(
            zone: "Europe/Berlin",
            expression: "*/15 * * * *",
            count: 175296,
            checksum: 403475758,
            atChanges: []
        ),
        Row(
            zone: "Europe/Berlin",
            expression: "0 * * * *",
            count: 43824,
            checksum: 68176192,
            atChanges: []
        ),
        Row(
            zone: "Europe/Berlin",
            expression: "*/20 2 * * *",
            count: 5478,
            checksum: 489557716,
            atChanges: []
        ),
        Row(
            zone: "Europe/Berlin",
            expression: "15 1,2 * * SUN",
            count: 522,
            checksum: 93874933,
            atChanges: ["2027-03-28T00:15Z", "2027-03-28T01:00Z", "2027-10-30T23:15Z", "2027-10-31T00:15Z"]
        ),
        Row(
            zone: "Europe/Berlin",
            expression: "45 1 1-10/3 APR-NOV ?",
            count: 160,
            checksum: 143987506,
            atChanges: []
        ),
        Row(
            zone: "Europe/Berlin",
            expression: "59 23 29 2 *",
            count: 1,
            checksum: 835477933,
            atChanges: []
        ),
        Row(
            zone: "Europe/Berlin",
            expression: "0 12 13 * 5",
            count: 312,
            checksum: 655700335,
            atChanges: []
        ),
        Row(
            zone: "America/New_York",
            expression: "30 2 * * *",
            count: 1826,
            checksum: 496443752,
            atChanges: ["2027-03-14T07:00Z", "2027-11-07T07:30Z"]
        ),
        Row(
            zone: "America/New_York",
            expression: "0 3 * * *",
            count: 1826,
            checksum: 275928988,
            atChanges: ["2027-03-14T07:00Z", "2027-11-07T08:00Z"]
        ),
        Row(
            zone: "America/New_York",
            expression: "*/15 * * * *",
            count: 175296,
            checksum: 403475758,
            atChanges: []
        ),
        Row(
            zone: "America/New_York",
            expression: "0 * * * *",
            count: 43824,
            checksum: 68176192,
            atChanges: []
        ),
        Row(
            zone: "America/New_York",
            expression: "*/20 2 * * *",
            count: 5463,
            checksum: 949569317,
            atChanges: ["2027-11-07T07:00Z", "2027-11-07T07:20Z", "2027-11-07T07:40Z"]
        ),
        Row(
            zone: "America/New_York",
            expression: "15 1,2 * * SUN",
            count: 522,
            checksum: 707487833,
            atChanges: ["2027-03-14T06:15Z", "2027-03-14T07:00Z", "2027-11-07T05:15Z", "2027-11-07T07:15Z"]
        ),
        Row(
            zone: "America/New_York",
            expression: "45 1 1-10/3 APR-NOV ?",
            count: 160,
            checksum: 939947976,
            atChanges: ["2027-11-07T05:45Z"]
        ),
        Row(
            zone: "America/New_York",
            expression: "59 23 29 2 *",
            count: 1,
            checksum: 835499533,
            atChanges: []
        ),
        Row(
            zone: "America/New_York",
            expression: "0 12 13 * 5",
            count: 312,
            checksum: 460454418,
            atChanges: []
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "30 2 * * *",
            count: 1826,
            checksum: 762327620,
            atChanges: ["2027-04-03T16:00Z", "2027-10-02T15:30Z"]
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "0 3 * * *",
            count: 1826,
            checksum: 840406545,
            atChanges: ["2027-04-03T16:30Z", "2027-10-02T16:00Z"]
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "*/15 * * * *",
            count: 175296,
            checksum: 403475758,
            atChanges: []
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "0 * * * *",
            count: 43819,
            checksum: 161008768,
            atChanges: []
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "*/20 2 * * *",
            count: 5468,
            checksum: 238825894,
            atChanges: ["2027-04-03T15:30Z", "2027-04-03T15:50Z", "2027-04-03T16:10Z", "2027-10-02T15:40Z"]
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "15 1,2 * * SUN",
            count: 522,
            checksum: 163954157,
            atChanges: ["2027-04-03T14:15Z", "2027-04-03T15:45Z", "2027-10-02T14:45Z", "2027-10-02T15:30Z"]
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "45 1 1-10/3 APR-NOV ?",
            count: 160,
            checksum: 57989654,
            atChanges: ["2027-04-03T14:45Z"]
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "59 23 29 2 *",
            count: 1,
            checksum: 835441933,
            atChanges: []
        ),
        Row(
            zone: "Australia/Lord_Howe",
            expression: "0 12 13 * 5",
            count: 312,
            checksum: 776492051,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "30 2 * * *",
            count: 1826,
            checksum: 123339764,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "0 3 * * *",
            count: 1826,
            checksum: 201418689,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "*/15 * * * *",
            count: 175296,
            checksum: 403475758,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "0 * * * *",
            count: 43824,
            checksum: 144573262,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "*/20 2 * * *",
            count: 5478,
            checksum: 5470105,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "15 1,2 * * SUN",
            count: 522,
            checksum: 826864726,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "45 1 1-10/3 APR-NOV ?",
            count: 160,
            checksum: 906647772,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "59 23 29 2 *",
            count: 1,
            checksum: 835460833,
            atChanges: []
        ),
        Row(
            zone: "Asia/Kathmandu",
            expression: "0 12 13 * 5",
            count: 312,
            checksum: 821942622,
            atChanges: []
        ),
        Row(
            zone: "America/St_Johns",
            expression: "30 2 * * *",
            count: 1826,
            checksum: 262206977,
            atChanges: ["2027-03-14T05:30Z", "2027-11-07T06:00Z"]
        ),
        Row(
            zone: "America/St_Johns",
            expression: "0 3 * * *",
            count: 1826,
            checksum: 41692213,
            atChanges: ["2027-03-14T05:30Z", "2027-11-07T06:30Z"]
        ),
        Row(
            zone: "America/St_Johns",
            expression: "*/15 * * * *",
            count: 175296,
            checksum: 403475758,
            atChanges: []
        ),
        Row(
            zone: "America/St_Johns",
            expression: "0 * * * *",
            count: 43824,
            checksum: 220970332,
            atChanges: []
        ),
        Row(
            zone: "America/St_Johns",
            expression: "*/20 2 * * *",
            count: 5463,
            checksum: 315916067,
            atChanges: ["2027-11-07T05:30Z", "2027-11-07T05:50Z", "2027-11-07T06:10Z"]
        ),
        Row(
            zone: "America/St_Johns",
            expression: "15 1,2 * * SUN",
            count: 522,
            checksum: 146223611,
            atChanges: ["2027-03-14T04:45Z", "2027-03-14T05:30Z", "2027-11-07T03:45Z", "2027-11-07T05:45Z"]
        ),
        Row(
            zone: "America/St_Johns",
            expression: "45 1 1-10/3 APR-NOV ?",
            count: 160,
            checksum: 305468993,
            atChanges: ["2027-11-07T04:15Z"]
        ),
        Row(
            zone: "America/St_Johns",
            expression: "59 23 29 2 *",
            count: 1,
            checksum: 835494133,
            atChanges: []
        ),
        Row(
            zone: "America/St_Johns",
            expression: "0 12 13 * 5",
            count: 312,
            checksum: 792012112,
            atChanges: []
        ),
    ]
}
