// The only door to C: hiredis' reply reader, nothing else of the library.
#include <hiredis/read.h>
