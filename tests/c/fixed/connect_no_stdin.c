/*
 * An agent that has closed its standard input connects: there is nothing to read, which is the end of the stream. The C library
 * is stopped by an assertion in libpcp 6. CONN-2 CONN-6
 *
 * c-library: fixed in PCP 7
 */
#include "loop.h"

static void
body(void)
{
    pmSetProgname("agent");
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", 253, "log", NULL);
    dispatch.version.any.text = own_text;
    dispatch.version.any.fetch = own_fetch;
    pmdaInit(&dispatch, NULL, 0, NULL, 0);
    fclose(stdin);
    pmdaConnect(&dispatch);
    say("status %d infd %d outfd %d", dispatch.status, dispatch.version.any.ext->e_infd, dispatch.version.any.ext->e_outfd);
}

int
main(void)
{
    start(body);
    finish();
    return 0;
}
