// The only door to zlib.
#include <zlib.h>
