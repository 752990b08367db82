import PictureSteps
import SluiceCLI

/// A worker for the steps of the pipeline, with every verb of `sluice`.
@main struct App {
    static func main() async {
        await SluiceMain.run {
            $0.register(PictureFolders.self)
            $0.register(PictureDownload.self)
            $0.register(PictureThumbnail.self)
            $0.register(PictureSheet.self)
        }
    }
}
