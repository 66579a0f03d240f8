/*
 * events: a queue of events. Each client gets each event once; by a store into events.filter a client says which
 * ones it wants (a text that the event must contain). Here every fetch of events.trigger makes an event.
 */
#define _POSIX_C_SOURCE 200809L /* strndup, where the compiler is told to keep to C11 */
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	495

enum { TRIGGER, RECORDS, FILTER, MESSAGE };

static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, TRIGGER), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_COUNTER, PMDA_PMUNITS(0, 0, 1, 0, 0, 0) } },
    { NULL, { PMDA_PMID(0, RECORDS), PM_TYPE_EVENT, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    { NULL, { PMDA_PMID(0, FILTER), PM_TYPE_STRING, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    { NULL, { PMDA_PMID(0, MESSAGE), PM_TYPE_STRING, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};
static int queue;

/* Turns a queued event into a record with one parameter, the message. */
static int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    pmAtomValue message = { .cp = data };
    int sts;

    (void)size;
    (void)cookie;
    if ((sts = pmdaEventAddRecord(array, when, PM_EVENT_FLAG_POINT)) < 0 ||
	(sts = pmdaEventAddParam(array, metrics[MESSAGE].m_desc.pmid, PM_TYPE_STRING, &message)) < 0)
	return sts;
    return 1;
}

/* Non-zero: the client does not want the event. */
static int
unwanted(void *filter, void *data, size_t size)
{
    (void)size;
    return strstr(data, filter) == NULL;
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    static unsigned int count;
    struct timeval now;
    char text[64];

    (void)inst;
    switch (pmID_item(metric->m_desc.pmid)) {
    case TRIGGER:
	snprintf(text, sizeof(text), "number %u is %s", count + 1, count % 2 ? "even" : "odd");
	gettimeofday(&now, NULL);
	pmdaEventQueueAppend(queue, text, strlen(text) + 1, &now);
	atom->ul = ++count;
	return PMDA_FETCH_STATIC;
    case RECORDS:
	return pmdaEventQueueRecords(queue, atom, pmdaGetContext(), decode, NULL);
    case FILTER:
	atom->cp = "";
	return PMDA_FETCH_STATIC;
    }
    return PMDA_FETCH_NOVALUES;	/* parameters have no value of their own */
}

/* Makes the client known and lets it see the queue: access is denied until somebody grants it. */
static void
welcome(int context)
{
    pmdaEventNewClient(context);
    pmdaEventSetAccess(context, queue, 1);
}

static int
fetch(int count, pmID *ids, pmdaResult **result, pmdaExt *ext)
{
    welcome(ext->e_context);
    return pmdaFetch(count, ids, result, ext);
}

static int
store(pmdaResult *result, pmdaExt *ext)
{
    pmValueSet *set = result->vset[0];
    pmAtomValue filter;
    int sts;

    if (result->numpmid != 1 || pmID_item(set->pmid) != FILTER || set->numval != 1)
	return PM_ERR_PERMISSION;
    /* Looks at the format first: a value in situ is no pointer. The copy belongs to us. */
    sts = pmExtractValue(set->valfmt, &set->vlist[0], PM_TYPE_STRING, &filter, PM_TYPE_STRING);
    if (sts < 0)
	return sts;
    welcome(ext->e_context);
    return pmdaEventSetFilter(ext->e_context, queue, filter.cp, unwanted, free);
}

static void
end_of_client(int context)
{
    pmdaEventEndClient(context);
}

int
main(int argc, char **argv)
{
    pmdaInterface dispatch;

    (void)argc;
    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), DOMAIN, "events.log", NULL);
    pmdaOpenLog(&dispatch);
    dispatch.version.any.fetch = fetch;
    dispatch.version.any.store = store;
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaSetEndContextCallBack(&dispatch, end_of_client);
    pmdaInit(&dispatch, NULL, 0, metrics, sizeof(metrics) / sizeof(metrics[0]));
    queue = pmdaEventNewQueue("events", 64 * 1024);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
