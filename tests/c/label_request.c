/*
 * pmdaLabel: each type with every interface version, labels that are there already, defaults, instance labels from
 * tables and the null domain, with and without a callback, failing callbacks, the profile, debug output.
 * LABEL-10 LABEL-11 LABEL-12 LABEL-13 LABEL-14 LABEL-15 LABEL-16 LABEL-17 LABEL-18 LABEL-20 LABEL-21 LABEL-25 LABEL-26
 * LABEL-27 LABEL-28 L-11 L-12 L-14 L-15 LABEL-46
 * memory: nothing is lost on ours
 */
#include <sys/stat.h>
#include "label_fixture.h"

static pmdaInstid	table[] = { { 3, "three" }, { 1, "one" }, { 7, "seven" } };
static pmdaIndom	indoms[] = { { 0, 3, table }, { 1, 0, NULL }, { 2, PM_IN_NULL, NULL } };
static pmdaMetric	metrics[] = { { NULL, { 0, PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } } };
static int		mode;

static int
labels(pmInDom indom, unsigned int inst, pmLabelSet **set)
{
    pmLabelSet *slot = *set;

    printf("callback indom %s inst %d slot: inst %u nlabels %d json %s compound %d\n", pmInDomStr(indom), (int)inst,
	slot->inst, slot->nlabels, slot->json ? "set" : "NULL", slot->compound);
    switch (mode) {
    case 0:
	return pmdaAddLabels(set, "{\"inst\":%d}", (int)inst);
    case 1:
	pmdaAddLabels(set, "{\"z\":%d,\"dev\":\"d%d\"}", (int)inst, (int)inst);
	return pmdaAddNotes(set, "{\"x\":{\"y\":1},\"note\":[1,2]}");
    case 2:
	return inst == 3 ? PM_ERR_INST : inst == 1 ? -EINVAL : pmdaAddLabels(set, "{\"a\":1}");
    case 3:
	return 0;
    case 4:
	return pmdaAddLabels(set, "{\"bad\":}");
    }
    return 0;
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = inst;
    return 1;
}

static void
request(int ident, int type, pmLabelSet **sets, pmdaExt *ext)
{
    int i, status = pmdaLabel(ident, type, sets, ext);

    printf("ident %d type %d: %d\n", ident, type, status);
    if (*sets == NULL)
	printf("  no sets\n");
    for (i = 0; *sets != NULL && i < (status > 0 ? status : 1); i++)
	label_dump(*sets + i);
    if (*sets != NULL)
	pmFreeLabelSets(*sets, status > 0 ? status : 1);
    *sets = NULL;
    fflush(stdout);
    fflush(stderr);
}

static void
instances(pmdaExt *ext, pmInDom indom)
{
    pmLabelSet *sets = NULL;

    request((int)indom, PM_LABEL_INSTANCES, &sets, ext);
}

static void
put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
	exit(1);
    fputs(text, file);
    fclose(file);
}

int
main(void)
{
    static const int versions[] = { PMDA_INTERFACE_4, PMDA_INTERFACE_5, PMDA_INTERFACE_6, PMDA_INTERFACE_7 };
    static const int types[] = { 0, 1, 2, 3, 4, 6, 8, 16, 24, 32, 33, 48, 63, 64, 128, 192, 256, -1, 4 | 64, 8 | 128,
	16 | 192, 32 | 64 };
    static const char *const names[] = { "pmdaSample DSO", "pmda", "pmda DSO", "", "x", " DSO", "a DSO", "quote\"d", "pmdapmda" };
    pmdaInterface dispatch;
    pmdaExt *ext;
    pmLabelSet *sets;
    unsigned int i, j;
    pmInDomProfile profiles[1];
    pmProfile profile = { PM_PROFILE_INCLUDE, 1, profiles };
    int selected[2];

    pmSetProgname("label_request");
    for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
	memset(&dispatch, 0, sizeof(dispatch));
	pmdaDaemon(&dispatch, versions[i], "agent", 250, "log", NULL);
	pmdaSetFetchCallBack(&dispatch, value);
	pmdaInit(&dispatch, indoms, 3, metrics, 1);
	ext = dispatch.version.any.ext;
	printf("== version %d status %d\n", versions[i], dispatch.status);
	ext->e_context = 17 + i;
	for (j = 0; j < sizeof(types) / sizeof(types[0]); j++) {
	    if (types[j] == PM_LABEL_CONTEXT)
		continue;
	    sets = NULL;
	    request(0, types[j], &sets, ext);
	    pmdaAddLabels(&sets, "{\"b\":1,\"a\":{\"c\":2}}");
	    if ((types[j] & 32) == 0)
		request(0, types[j], &sets, ext);
	    else
		pmFreeLabelSets(sets, 1);
	    sets = calloc(1, sizeof(*sets));
	    if ((types[j] & 32) == 0)
		request(0, types[j], &sets, ext);
	    else
		free(sets);
	}
	printf("context %d\n", pmdaGetContext());
	pmdaSetLabelCallBack(&dispatch, labels);
	printf("callback: status %d\n", dispatch.status);
	sets = NULL;
	request((int)PM_INDOM_NULL, PM_LABEL_INSTANCES, &sets, ext);
	pmdaSetLabelCallBack(&dispatch, NULL);
    }

    printf("== domain names\n");
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
	ext->e_name = names[i];
	sets = NULL;
	printf("%s\n", names[i]);
	request(0, PM_LABEL_DOMAIN, &sets, ext);
    }
    ext->e_name = "agent";

    printf("== context labels\n");
    sets = NULL;
    request(0, PM_LABEL_CONTEXT, &sets, ext);
    mkdir("etc", 0777);
    mkdir("etc/labels", 0777);
    request(0, PM_LABEL_CONTEXT, &sets, ext);
    mkdir("etc/labels/optional", 0777);
    request(0, PM_LABEL_CONTEXT, &sets, ext);
    put("etc/labels/one", "{\"site\":\"here\",\"deep\":{\"er\":1}}\n");
    request(0, PM_LABEL_CONTEXT, &sets, ext);
    put("etc/labels/optional/two", "{\"rack\":4}\n");
    request(0, PM_LABEL_CONTEXT, &sets, ext);
    put("etc/labels/zbad", "{\"rack\":}\n");
    request(0, PM_LABEL_CONTEXT, &sets, ext);
    pmdaAddLabels(&sets, "{\"mine\":1}");
    request(0, PM_LABEL_CONTEXT, &sets, ext);

    printf("== instances\n");
    instances(ext, indoms[0].it_indom);
    for (mode = 0; mode < 5; mode++) {
	printf("== mode %d\n", mode);
	pmdaSetLabelCallBack(&dispatch, labels);
	instances(ext, indoms[0].it_indom);
	instances(ext, PM_INDOM_NULL);
	instances(ext, indoms[1].it_indom);
	instances(ext, pmInDom_build(250, 77));
    }
    printf("negative count\n");
    instances(ext, indoms[2].it_indom);

    printf("== profile\n");
    mode = 0;
    profiles[0].indom = indoms[0].it_indom;
    profiles[0].state = PM_PROFILE_EXCLUDE;
    profiles[0].instances_len = 2;
    profiles[0].instances = selected;
    selected[0] = 1;
    selected[1] = 7;
    pmdaProfile(&profile, ext);
    instances(ext, indoms[0].it_indom);
    instances(ext, PM_INDOM_NULL);

    printf("== debug output\n");
    pmSetDebug("labels");
    setvbuf(stdout, NULL, _IONBF, 0);
    ext->e_context = 4;
    pmdaAddLabels(&sets, "{\"mine\":1}");	/* the defaults would be dumped with their addresses */
    request(0, PM_LABEL_CONTEXT, &sets, ext);
    request(0, PM_LABEL_DOMAIN, &sets, ext);
    request((int)indoms[0].it_indom, PM_LABEL_INDOM, &sets, ext);
    request((int)PM_INDOM_NULL, PM_LABEL_INDOM, &sets, ext);
    request((int)pmID_build(250, 4, 5), PM_LABEL_CLUSTER, &sets, ext);
    request((int)pmID_build(250, 4, 5), PM_LABEL_ITEM | PM_LABEL_OPTIONAL, &sets, ext);
    request((int)PM_ID_NULL, PM_LABEL_ITEM, &sets, ext);
    instances(ext, indoms[0].it_indom);
    instances(ext, pmInDom_build(250, 77));
    instances(ext, PM_INDOM_NULL);
    request(0, 3, &sets, ext);
    return 0;
}
