extension Duration {
    /// Whole milliseconds, rounded up, so that a pause is never shorter than asked for.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let per = Int64(1_000_000_000_000_000)
        return seconds * 1000 + attoseconds / per + (attoseconds % per > 0 ? 1 : 0)
    }

    /// Seconds as a floating point number.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
