// The only door to libpng. Of it only the simplified API (`png_image_…`) can be called from Swift: everything else reports errors by longjmp.
#include <png.h>
