/*
 * A callback gives its agent another profile in the middle of a fetch from a cached domain: at the same address with a list of the same
 * length, elsewhere, one that selects everything, and one that lists what is not wanted. INST-50 INST-53 FETCH-34 FETCH-100
 * memory: nothing is lost on ours
 */
#include "fetch.h"

#define N 100
#define LISTED 40

enum { SAME, ELSEWHERE, ALL, NOTHING, EXCEPT, DEFAULT, STATES };

static const char *const states[] = { "same place", "elsewhere", "all", "nothing", "all but", "default" };

struct whole {
    pmProfile profile;
    pmInDomProfile element;
    int list[LISTED];
};

static pmdaInterface dispatch;
static pmdaExt *ext;
static pmdaMetric metrics[1] = { { NULL, { 0, PM_TYPE_32, 0, PM_SEM_INSTANT, { 0 } } } };
static struct whole wholes[2];
static int calls, turn, to;

/* Gives the agent a profile that begins at an instance. */
static void
give(struct whole *whole, int state, int first, int length)
{
    int i;

    whole->profile.state = state == NOTHING ? PM_PROFILE_EXCLUDE : PM_PROFILE_INCLUDE;
    whole->profile.profile_len = state == ALL || state == NOTHING ? 0 : 1;
    whole->profile.profile = &whole->element;
    whole->element.indom = metrics[0].m_desc.indom;
    whole->element.state = state == EXCEPT ? PM_PROFILE_INCLUDE : PM_PROFILE_EXCLUDE;
    whole->element.instances_len = length;
    whole->element.instances = whole->list;
    for (i = 0; i < length; i++)
	whole->list[i] = first + (i * 7) % (2 * length);
    if (state == DEFAULT)
	ext->e_prof = NULL;
    else
	printf(" [profile %d]", pmdaProfile(&whole->profile, ext));
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    printf(" %u", inst);
    if (++calls == turn)
	give(&wholes[to == ELSEWHERE], to, 3, to == SAME ? wholes[0].element.instances_len : 20);
    atom->l = inst;
    return PMDA_FETCH_STATIC;
}

static void
fetch_once(void)
{
    pmID pmid = metrics[0].m_desc.pmid;
    pmdaResult *result;
    int i;

    calls = 0;
    if (CALL(dispatch).fetch(1, &pmid, &result, ext) < 0)
	return;
    printf(" = %d:", result->vset[0]->numval);
    for (i = 0; i < result->vset[0]->numval; i++)
	printf(" %d", result->vset[0]->vlist[i].inst);
    printf("\n");
    free(result->vset[0]);
}

int
main(void)
{
    static const int lengths[] = { 3, 17, LISTED };
    char name[20];
    int i, from, n;

    agent(&dispatch, 7, value, NULL, 0, metrics, 1);
    ext = CALL(dispatch).ext;
    metrics[0].m_desc.indom = pmInDom_build(DOMAIN, 1);
    for (i = 0; i < N; i++) {
	snprintf(name, sizeof(name), "i%d", i);
	pmdaCacheStore(metrics[0].m_desc.indom, PMDA_CACHE_ADD, name, NULL);
    }
    for (from = 0; from < STATES; from++)
	for (to = 0; to < STATES; to++)
	    for (n = 0; n < LENGTH(lengths); n++)
		for (turn = 1; turn < 20; turn += 6) {
		    printf("from %s to %s, %d listed, at %d:", states[from], states[to], lengths[n], turn);
		    give(&wholes[0], from, 1, lengths[n]);
		    fetch_once();
		    printf("again:");
		    turn += 1000;
		    fetch_once();
		    turn -= 1000;
		}
    return 0;
}
