/*
 * Functions in front of the library's own, as a tracer preloads them: each says that it was called, and calls the real one.
 * cc: -shared -fPIC -Wl,--no-as-needed
 */
#include <dlfcn.h>
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"

#define FRONT(name, args, call) \
    int \
    name args \
    { \
	int (*real) args = (int (*) args)(size_t)dlsym(RTLD_NEXT, #name); \
	fprintf(stderr, "in front of " #name "\n"); \
	return real call; \
    }

FRONT(pmdaProfile, (pmProfile *profile, pmdaExt *ext), (profile, ext))
FRONT(pmdaFetch, (int count, pmID *pmids, pmdaResult **result, pmdaExt *ext), (count, pmids, result, ext))
FRONT(pmdaDesc, (pmID pmid, pmDesc *desc, pmdaExt *ext), (pmid, desc, ext))
FRONT(pmdaInstance, (pmInDom indom, int inst, char *name, pmInResult **list, pmdaExt *ext), (indom, inst, name, list, ext))
FRONT(pmdaText, (int ident, int type, char **text, pmdaExt *ext), (ident, type, text, ext))
FRONT(pmdaStore, (pmdaResult *result, pmdaExt *ext), (result, ext))
FRONT(pmdaPMID, (const char *name, pmID *pmid, pmdaExt *ext), (name, pmid, ext))
FRONT(pmdaName, (pmID pmid, char ***names, pmdaExt *ext), (pmid, names, ext))
FRONT(pmdaChildren, (const char *name, int all, char ***names, int **states, pmdaExt *ext), (name, all, names, states, ext))
FRONT(pmdaAttribute, (int context, int key, const char *value, int length, pmdaExt *ext), (context, key, value, length, ext))
FRONT(pmdaLabel, (int ident, int type, pmLabelSet **sets, pmdaExt *ext), (ident, type, sets, ext))
FRONT(__pmdaMainPDU, (pmdaInterface *table), (table))
