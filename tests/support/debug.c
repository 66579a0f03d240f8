/* Preloaded: sets the debug options in TEST_DEBUG before the program starts, as -D would. */
#include <stdlib.h>
#include <pcp/pmapi.h>

__attribute__((constructor)) static void
debug(void)
{
    const char *options = getenv("TEST_DEBUG");

    if (options)
	pmSetDebug(options);
}
