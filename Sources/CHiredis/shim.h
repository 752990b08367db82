// The only door to C: hiredis' reply reader, and the number of its version.
#include <hiredis/hiredis.h>
#include <hiredis/read.h>
