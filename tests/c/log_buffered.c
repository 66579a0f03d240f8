/*
 * Lines in the order in which they are said, whatever buffer the agent has given to its stderr: a text that the agent writes without
 * a newline is not overtaken. libpcp makes stderr line by line since 7.0. MAIN-30 LABEL-39
 */
#include <stdio.h>
#include <stdlib.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmdaInstid two[] = { { 20, "x" }, { 21, "y" } };
static pmdaIndom indoms[] = { { 0x3e800001, 2, two } };

/* Messages of each kind: debug output, a line of the log, and one with its own head. */
static void
speak(const char *how)
{
    static pmdaExt ext;
    pmdaInterface dispatch;
    pmLabelSet *set = NULL;
    int cache = 0x3e800005;

    fprintf(stderr, "%s: begins, ", how);
    ext.e_indoms = indoms;
    ext.e_nindoms = 1;
    ext.e_singular = ext.e_ordinal = -1;
    __pmdaCntInst(0x3e800001, &ext);
    fprintf(stderr, "counted, ");
    __pmdaCntInst(0x3e800002, &ext);
    fprintf(stderr, "none, ");
    pmdaAddLabels(&set, "{\"a\":1}");
    fprintf(stderr, "added, ");
    pmdaAddLabels(&set, "{\"a\"");
    fprintf(stderr, "refused, ");
    pmdaCacheStore(cache, PMDA_CACHE_ADD, "one", NULL);
    pmdaCacheOp(cache, PMDA_CACHE_DUMP);
    fprintf(stderr, "dumped, ");
    pmdaDSO(&dispatch, PMDA_INTERFACE_7, "buffered", NULL);
    dispatch.domain = 250;
    dispatch.status = 0;
    pmdaInit(&dispatch, indoms, 1, NULL, 0);
    fprintf(stderr, "ends\n");
    pmFreeLabelSets(set, 1);
}

int
main(void)
{
    static char buffer[65536];

    pmSetProgname("log_buffered");
    pmSetDebug("labels,indom,libpmda");
    speak("as it is");
    setvbuf(stderr, NULL, _IOLBF, 0);
    speak("by lines");
    setvbuf(stderr, buffer, _IOFBF, sizeof(buffer));
    speak("by blocks");
    setvbuf(stderr, NULL, _IONBF, 0);
    speak("at once");
    fprintf(stderr, "the end");
    return 0;
}
