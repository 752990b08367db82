import SluiceCLI

/// A whole program: a worker that handles `image.thumbnail`, with every verb of `sluice`.
///
///     thumbnails worker -c 4
///     thumbnails enqueue image.thumbnail source=large.ppm target=small.ppm width:=160 --wait
@main struct App {
    static func main() async { await SluiceMain.run { $0.register(Thumbnail.self) } }
}
