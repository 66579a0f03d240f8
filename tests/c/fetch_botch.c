/*
 * A daemon whose dispatch table belongs to another extension: pmdaFetch says so on stderr, once a call, and goes on with
 * the extension that it was given (FETCH-11). pmdaInterfaceMoved with the right table cures it (INIT-51).
 * memory: nothing is lost on ours
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->ul = inst;
    return PMDA_FETCH_STATIC;
}

/* Prints what came to stderr since the last call, with P for every address. */
static void
show(const char *what)
{
    static long seen;
    FILE *log = fopen("stderr.txt", "r");
    int c, next = 0;

    fseek(log, seen, SEEK_SET);
    printf("%s: [", what);
    while ((c = getc(log)) != EOF) {
	if (c == '0' && (next = getc(log)) == 'x') {
	    putchar('P');
	    while (isxdigit(c = getc(log)))
		;
	    ungetc(c, log);
	    continue;
	}
	putchar(c);
	if (c == '0')
	    ungetc(next, log);
    }
    printf("]\n");
    seen = ftell(log);
    fclose(log);
}

int
main(void)
{
    static pmdaMetric metrics[1];
    pmdaInterface d, other;
    pmdaExt *ext;
    pmdaResult *result;
    pmID id;
    int sts;

    if (freopen("stderr.txt", "w", stderr) == NULL)
	return 1;
    setvbuf(stderr, NULL, _IONBF, 0);
    memset(&d, 0, sizeof(d));
    memset(&other, 0, sizeof(other));
    metrics[0].m_desc.indom = PM_INDOM_NULL;
    metrics[0].m_desc.type = PM_TYPE_U32;
    pmdaDaemon(&d, PMDA_INTERFACE_7, "first", 250, NULL, NULL);
    pmdaDaemon(&other, PMDA_INTERFACE_7, "second", 251, NULL, NULL);
    d.version.any.text = NULL;
    pmdaSetFetchCallBack(&d, value);
    pmdaInit(&d, NULL, 0, metrics, 1);
    ext = d.version.any.ext;
    id = metrics[0].m_desc.pmid;

    sts = pmdaFetch(1, &id, &result, ext);
    show("the right extension");
    printf("%d numval %d\n", sts, result->vset[0]->numval);
    free(result->vset[0]);
    d.version.any.ext = other.version.any.ext;
    sts = pmdaFetch(1, &id, &result, ext);
    show("another extension");
    printf("%d numval %d\n", sts, result->vset[0]->numval);
    free(result->vset[0]);
    d.version.any.ext = ext;
    pmdaInterfaceMoved(&d);
    sts = pmdaFetch(1, &id, &result, ext);
    show("cured");
    printf("%d numval %d\n", sts, result->vset[0]->numval);
    free(result->vset[0]);
    unlink("stderr.txt");
    return 0;
}
