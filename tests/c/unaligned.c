/*
 * Structures, tables and results at odd addresses, as in a packed structure or in a buffer that an agent has read: the C library
 * takes and fills them. FETCH-3 EVENT-22 QUEUE-12 INIT-41
 * also on a debug build, in which Rust checks addresses
 * differs on arm: the processor refuses some of these addresses, in the C library as well
 */
#include "fetch.h"
#include "event_dump.h"
#include "instances.h"

/* The C library casts the addresses as they are. */
#define ODD(type, name) type *name = (type *)(memory() + 1)

/* The blocks are kept: valgrind sees no pointer at an odd address. */
static char *
memory(void)
{
    static char *volatile kept[64];
    static int n;

    return kept[n++] = calloc(1, 4096);
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    static struct { char pad; char head[4]; char text[5]; } __attribute__((packed)) block;
    pmValueBlock head;

    memset(&head, 0, sizeof(head));
    head.vtype = PM_TYPE_AGGREGATE;
    head.vlen = 4 + sizeof(block.text);
    memcpy(block.head, &head, 4);
    memcpy(block.text, "block", 5);
    if (pmID_item(metric->m_desc.pmid) == 1)
	atom->vbp = (pmValueBlock *)block.head;
    else
	atom->l = 100 + (int)inst;
    return PMDA_FETCH_STATIC;
}

/* The tables of an agent, its identifiers, and the place for the result. */
static void
tables(void)
{
    static char one[] = "one", two[] = "two", agent_name[] = "odd";
    pmdaInstid instances[] = { { 3, one }, { 7, two } };
    pmdaIndom indom = { 0, 2, NULL };
    pmdaMetric metrics[] = {
	{ NULL, { PMDA_PMID(0, 0), PM_TYPE_32, 0, PM_SEM_INSTANT, { 0 } } },
	{ NULL, { PMDA_PMID(0, 1), PM_TYPE_AGGREGATE, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } },
    };
    pmID pmids[] = { pmID_build(DOMAIN, 0, 0), pmID_build(DOMAIN, 0, 1), pmID_build(DOMAIN, 0, 2) };
    ODD(pmdaInterface, table);
    ODD(pmdaInstid, odd_instances);
    ODD(pmdaIndom, odd_indom);
    ODD(pmdaMetric, odd_metrics);
    ODD(pmID, odd_pmids);
    ODD(pmdaResult *, place);
    ODD(pmDesc, desc);
    ODD(pmInResult *, list);
    ODD(char *, text);
    pmInResult *instances_found;
    pmdaResult *result;
    pmDesc copy;
    int dom, i;

    memcpy(odd_instances, instances, sizeof(instances));
    indom.it_set = odd_instances;
    memcpy(odd_indom, &indom, sizeof(indom));
    memcpy(odd_metrics, metrics, sizeof(metrics));
    memcpy(odd_pmids, pmids, sizeof(pmids));
    dom = DOMAIN;
    memcpy(&table->domain, &dom, sizeof(dom));
    pmdaDSO(table, PMDA_INTERFACE_7, agent_name, NULL);
    pmdaSetFetchCallBack(table, value);
    CALL(*table).text = NULL;
    pmdaInit(table, odd_indom, 1, odd_metrics, 2);
    SHOW(table->status);
    for (i = 0; i < 2; i++) {
	SHOW(pmdaFetch(3, odd_pmids, place, CALL(*table).ext));
	memcpy(&result, place, sizeof(result));
	print_set(result->vset[0]);
	print_set(result->vset[1]);
	print_set(result->vset[2]);
	free_sets(result);
    }
    SHOW(pmdaDesc(pmids[0], desc, CALL(*table).ext));
    memcpy(&copy, desc, sizeof(copy));
    printf("%s\n", pmInDomStr(copy.indom));
    SHOW(pmdaInstance(copy.indom, PM_IN_NULL, NULL, list, CALL(*table).ext));
    memcpy(&instances_found, list, sizeof(instances_found));
    for (i = 0; i < instances_found->numinst; i++)
	printf("%d %s\n", instances_found->instlist[i], instances_found->namelist[i]);
    free_list(instances_found);
    SHOW(pmdaText(pmids[0], PM_TEXT_PMID | PM_TEXT_ONELINE, text, CALL(*table).ext));
    /* Looked up by a hash. */
    pmdaRehash(CALL(*table).ext, odd_metrics, 2);
    SHOW(pmdaFetch(3, odd_pmids, place, CALL(*table).ext));
    memcpy(&result, place, sizeof(result));
    print_set(result->vset[0]);
    print_set(result->vset[1]);
    print_set(result->vset[2]);
    free_sets(result);
}

/* The places that a cache fills. */
static void
cached(void)
{
    static int private = 4711;
    pmInDom indom = pmInDom_build(DOMAIN, 5);
    char key[] = "?0123456789";
    ODD(int, inst);
    ODD(void *, attached);
    ODD(char *, name);
    void *back;
    char *text;
    int number;

    SHOW(pmdaCacheStore(indom, PMDA_CACHE_ADD, "first", &private));
    SHOW(pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "second", 8, key + 1, &private));
    SHOW(pmdaCacheLookupName(indom, "second", inst, attached));
    memcpy(&number, inst, sizeof(number));
    memcpy(&back, attached, sizeof(back));
    printf("%d %d\n", number, back == &private);
    SHOW(pmdaCacheLookup(indom, 0, name, attached));
    memcpy(&text, name, sizeof(text));
    printf("%s\n", text);
    SHOW(pmdaCacheLookupKey(indom, NULL, 8, key + 1, name, inst, attached));
    memcpy(&text, name, sizeof(text));
    printf("%s\n", text);
}

/* Times, atoms and value blocks of events. */
static void
events(void)
{
    struct timeval time = { 1, 2 };
    struct timespec high = { 3, 4 };
    pmValueBlock head;
    pmAtomValue atom;
    ODD(struct timeval, odd_time);
    ODD(struct timespec, odd_high);
    ODD(pmAtomValue, odd_atom);
    ODD(char, block);
    int array, queue;

    memcpy(odd_time, &time, sizeof(time));
    memcpy(odd_high, &high, sizeof(high));
    memset(&head, 0, sizeof(head));
    head.vtype = PM_TYPE_AGGREGATE;
    head.vlen = 4 + 8;
    memcpy(block, &head, 4);
    memcpy(block + 4, "hello.....", 8);
    SHOW(array = pmdaEventNewArray());
    SHOW(pmdaEventAddRecord(array, odd_time, PM_EVENT_FLAG_POINT));
    atom.vbp = (pmValueBlock *)block;
    memcpy(odd_atom, &atom, sizeof(atom));
    SHOW(pmdaEventAddParam(array, 7, PM_TYPE_AGGREGATE, &atom));
    SHOW(pmdaEventAddParam(array, 7, PM_TYPE_AGGREGATE, odd_atom));
    atom.ull = 0x1122334455667788;
    memcpy(odd_atom, &atom, sizeof(atom));
    SHOW(pmdaEventAddParam(array, 7, PM_TYPE_64, odd_atom));
    SHOW(pmdaEventAddParam(array, 7, PM_TYPE_32, odd_atom));
    atom.cp = (char *)"text";
    memcpy(odd_atom, &atom, sizeof(atom));
    SHOW(pmdaEventAddParam(array, 7, PM_TYPE_STRING, odd_atom));
    SHOW(pmdaEventAddMissedRecord(array, odd_time, 3));
    dump("events", pmdaEventGetAddr(array));
    SHOW(pmdaEventReleaseArray(array));
    SHOW(array = pmdaEventNewHighResArray());
    SHOW(pmdaEventAddHighResRecord(array, odd_high, PM_EVENT_FLAG_POINT));
    SHOW(pmdaEventAddHighResParam(array, 7, PM_TYPE_STRING, odd_atom));
    SHOW(pmdaEventAddHighResMissedRecord(array, odd_high, 3));
    dump("high", (pmEventArray *)pmdaEventGetHighResAddr(array));
    SHOW(pmdaEventReleaseHighResArray(array));
    SHOW(queue = pmdaEventNewQueue("odd", 100));
    SHOW(pmdaEventQueueAppend(queue, block, 12, odd_time));
    SHOW(pmdaEventQueueCounter(queue, odd_atom));
    memcpy(&atom, odd_atom, sizeof(atom));
    printf("%u\n", atom.ul);
}

/* The place of the labels. */
static void
labels(void)
{
    ODD(pmLabelSet *, sets);
    pmLabelSet *set;

    SHOW(pmdaAddLabels(sets, "{\"a\":%d}", 1));
    SHOW(pmdaAddLabels(sets, "{\"b\":%d}", 2));
    memcpy(&set, sets, sizeof(set));
    printf("%.*s\n", (int)set->jsonlen, set->json);
    pmFreeLabelSets(set, 1);
}

int
main(void)
{
    tables();
    cached();
    events();
    labels();
    return 0;
}
