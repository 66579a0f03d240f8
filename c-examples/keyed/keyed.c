/*
 * keyed: instances that are found by a binary key. The identifier is made from the key, so that it is the same on
 * every host and after every restart, without a file. Here the keys are pairs (bus, slot) of imaginary devices.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	492
#define DEVICES	0

struct key {
    unsigned char	bus;
    unsigned char	slot;
};

struct device {
    struct key		key;
    const char		*name;
    unsigned int	temperature;
};

static struct device devices[] = {
    { { 0, 3 }, "disk", 31 },
    { { 0, 7 }, "network", 42 },
    { { 2, 1 }, "graphics", 77 },
};
static const int ndevices = sizeof(devices) / sizeof(devices[0]);

static pmdaIndom indoms[] = { { DEVICES, 0, NULL } };

static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_U32, DEVICES, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    void *private;

    if (pmdaCacheLookup(metric->m_desc.indom, inst, NULL, &private) != PMDA_CACHE_ACTIVE)
	return PM_ERR_INST;
    atom->ul = ((struct device *)private)->temperature;
    return PMDA_FETCH_STATIC;
}

int
main(int argc, char **argv)
{
    pmdaInterface dispatch;
    int i;

    (void)argc;
    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), DOMAIN, "keyed.log", NULL);
    pmdaOpenLog(&dispatch);
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaInit(&dispatch, indoms, 1, metrics, sizeof(metrics) / sizeof(metrics[0]));
    for (i = 0; i < ndevices; i++) {
	struct device *d = &devices[i];
	int inst = pmdaCacheStoreKey(indoms[DEVICES].it_indom, PMDA_CACHE_ADD, d->name, sizeof(d->key), &d->key, d);

	if (inst < 0)
	    pmNotifyErr(LOG_ERR, "keyed: %s: %s", d->name, pmErrStr(inst));
    }
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
