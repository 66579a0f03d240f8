/*
 * Values of every type, and what is freed: FETCH-1, FETCH-2, FETCH-3, FETCH-4, FETCH-5, FETCH-30, FETCH-37, FETCH-42,
 * FETCH-50, FETCH-51, FETCH-52, FETCH-53, FETCH-71, FETCH-73, F-12.
 */
#include "fetch.h"

static int answer;
static char *text;
static pmValueBlock *given;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    switch (metric->m_desc.type) {
    case PM_TYPE_32:
	atom->l = -2;
	break;
    case PM_TYPE_U32:
	atom->ul = 0xfffffff0;
	break;
    case PM_TYPE_64:
	atom->ll = -3000000000LL;
	break;
    case PM_TYPE_U64:
	atom->ull = 0x8000000000000001ULL;
	break;
    case PM_TYPE_FLOAT:
	atom->f = 1.5;
	break;
    case PM_TYPE_DOUBLE:
	atom->d = -0.1;
	break;
    case PM_TYPE_STRING:
	atom->cp = answer == PMDA_FETCH_DYNAMIC ? strdup(text) : text;
	break;
    default:
	atom->vbp = given;
	if (answer == PMDA_FETCH_DYNAMIC && metric->m_desc.type == PM_TYPE_AGGREGATE) {
	    atom->vbp = malloc(given->vlen > 8 ? given->vlen : 8);
	    memcpy(atom->vbp, given, given->vlen);
	}
	break;
    }
    return answer;
}

int
main(void)
{
    static pmdaMetric metrics[16];
    static const int types[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1, 255, -2, 99 };
    static char *texts[] = { "", "a", "abcdefg", "1234567 and some more, to be cut in the output of this program" };
    static union { pmValueBlock block; char bytes[80]; } storage;
    static const int lengths[] = { 4, 5, 8, 12, 44 };
    pmID pmids[LENGTH(types)];
    pmdaInterface dispatch;
    int i, version;

    printf("sizes %zu %zu %zu\n", sizeof(pmdaResult), sizeof(pmValueSet), sizeof(pmdaMetric));
    for (i = 0; i < LENGTH(types); i++) {
	metrics[i].m_desc.pmid = pmids[i] = pmID_build(DOMAIN, 3, i);
	metrics[i].m_desc.type = types[i];
	metrics[i].m_desc.indom = PM_INDOM_NULL;
	metrics[i].m_desc.sem = PM_SEM_INSTANT;
    }
    for (i = 0; i < (int)sizeof(storage.bytes); i++)
	storage.bytes[i] = (char)(i * 7 + 1);
    given = &storage.block;
    for (version = 2; version <= 7; version++) {
	agent(&dispatch, version, value, NULL, 0, metrics, LENGTH(types));
	for (answer = 1; answer <= 3; answer++) {
	    for (i = 0; i < 4; i++) {
		text = texts[i];
		given->vtype = PM_TYPE_EVENT + (unsigned int)i * 50;
		given->vlen = (unsigned int)lengths[i];
		printf("version %d answer %d text %d\n", version, answer, i);
		fetch(&dispatch, LENGTH(types), pmids);
		fflush(stdout);
	    }
	}
    }
    given->vlen = (unsigned int)lengths[4];
    fetch(&dispatch, LENGTH(types), pmids);
    return 0;
}
