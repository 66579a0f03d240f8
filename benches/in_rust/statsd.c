/*
 * The counters of the example statsd of the crate pmda in C, with the same numbers of metrics: a thread receives them by UDP, on the
 * port that -P names, and adds them up; a fetch declares those that are new. Debian's package pcp has no
 * pmdastatsd (6.0.3 and 6.3.8).
 */
#include <pthread.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../../tests/c/generation.h"

enum { SUMS = 100000, BUCKETS = 1 << 18, NAMES = 128, ITEMS = 8, DOMAIN = 408 };

struct sum {
    char	*name;
    double	value;
};

static pthread_mutex_t	lock = PTHREAD_MUTEX_INITIALIZER;
static struct sum	*sums;
static unsigned int	*buckets;	/* the number of a sum plus one, by the hash of its name */
static unsigned int	count, declared;
static pmdaInstid	no_tags = { 0, "/" };
static pmdaIndom	domains[] = { { 1, 1, &no_tags } };
static pmdaMetric	*metrics;
static pmdaNameSpace	*names;

static void
add(char *name, double number)
{
    unsigned int hash = 2166136261u;
    const char	*next;

    for (next = name; *next != '\0'; next++)
	hash = (hash ^ (unsigned char)*next) * 16777619u;
    while (buckets[hash %= BUCKETS] != 0 && strcmp(sums[buckets[hash] - 1].name, name) != 0)
	hash++;
    if (buckets[hash] == 0) {
	if (count == SUMS)
	    return;
	sums[count].name = strdup(name);
	buckets[hash] = ++count;
    }
    sums[buckets[hash] - 1].value += number;
}

static void *
receive(void *socket)
{
    static char	buffer[65536];

    for (;;) {
	ssize_t	length = recv(*(int *)socket, buffer, sizeof(buffer) - 1, 0);
	char	*line, *rest = buffer;

	if (length <= 0)
	    continue;
	buffer[length] = '\0';
	pthread_mutex_lock(&lock);
	while ((line = strsep(&rest, "\n")) != NULL) {
	    char	*number = strchr(line, ':'), *end;
	    double	value;

	    if (number == NULL)
		continue;
	    *number++ = '\0';
	    value = strtod(number, &end);
	    if (strcmp(end, "|c") == 0)
		add(line, value);
	}
	pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Declares the sums that are new. */
static void
declare(pmdaExt *ext)
{
    char	name[1024];

    if (declared == count)
	return;
    metrics = realloc(metrics, (count + 1) * sizeof(metrics[0]));
    for (; declared < count; declared++) {
	pmID id = pmID_build(DOMAIN, 1 + declared / NAMES, declared % NAMES * ITEMS);

	snprintf(name, sizeof(name), "statsd.%s", sums[declared].name);
	pmdaTreeInsert(names, id, name);
	metrics[1 + declared] = (pmdaMetric){ NULL, { id, PM_TYPE_DOUBLE, domains[0].it_indom, PM_SEM_COUNTER,
	    PMDA_PMUNITS(0, 0, 1, 0, 0, PM_COUNT_ONE) } };
    }
    pmdaTreeRebuildHash(names, declared);
    pmdaRehash(ext, metrics, 1 + declared);
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    unsigned int cluster = pmID_cluster(metric->m_desc.pmid);

    if (cluster == 0) {
	atom->ul = 1;
	return PMDA_FETCH_STATIC;
    }
    if (inst != (unsigned int)no_tags.i_inst)
	return PM_ERR_INST;
    pthread_mutex_lock(&lock);
    atom->d = sums[(cluster - 1) * NAMES + pmID_item(metric->m_desc.pmid) / ITEMS].value;
    pthread_mutex_unlock(&lock);
    return PMDA_FETCH_STATIC;
}

static int
fetch(int number, pmID *ids, pmdaResult **result, pmdaExt *ext)
{
    pthread_mutex_lock(&lock);
    declare(ext);
    pthread_mutex_unlock(&lock);
    return pmdaFetch(number, ids, result, ext);
}

int
main(int argc, char **argv)
{
    static int		udp;
    struct sockaddr_in	address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    pmdaInterface	dispatch = { 0 };
    pmdaOptions		options = { .short_options = "d:l:P:" };
    int			option, port = 8125;
    pthread_t		thread;

    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "statsd", DOMAIN, "statsd.log", NULL);
    while ((option = pmdaGetOptions(argc, argv, &options, &dispatch)) != EOF)
	if (option == 'P')
	    port = atoi(options.optarg);
    dispatch.version.any.fetch = fetch;
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaSetFlags(&dispatch, PMDA_EXT_FLAG_HASHED);
    metrics = calloc(1, sizeof(metrics[0]));
    metrics[0].m_desc = (pmDesc){ PMDA_PMID(0, 0), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) };
    pmdaInit(&dispatch, domains, 1, metrics, 1);
    pmdaTreeCreate(&names);
    sums = calloc(SUMS, sizeof(sums[0]));
    buckets = calloc(BUCKETS, sizeof(buckets[0]));
    udp = socket(AF_INET, SOCK_DGRAM, 0);
    address.sin_port = htons(port);
    if (udp < 0 || bind(udp, (struct sockaddr *)&address, sizeof(address)) < 0) {
	perror("bind");
	return 1;
    }
    pthread_create(&thread, NULL, receive, &udp);
    pmdaOpenLog(&dispatch);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
