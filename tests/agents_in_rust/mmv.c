/* Two files of values: of version 1, and of version 3 with labels. */
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>

static mmv_instances_t instances[] = {{0, "zero"}, {5, "five"}};

static mmv_indom_t indoms[] = {{1, 2, instances, "Two instances", "Zero and five."}};

static mmv_metric_t metrics[] = {
    {"i32", 1, MMV_TYPE_I32, MMV_SEM_COUNTER, MMV_UNITS(0, 0, 1, 0, 0, PM_COUNT_ONE), MMV_INDOM_NULL, "A number", "More about it."},
    {"u32", 2, MMV_TYPE_U32, MMV_SEM_INSTANT, MMV_UNITS(1, -1, 0, PM_SPACE_KBYTE, PM_TIME_SEC, 0), 1, "Numbers", NULL},
    {"i64", 3, MMV_TYPE_I64, MMV_SEM_INSTANT, MMV_UNITS(0, 0, 0, 0, 0, 0), 1, NULL, NULL},
    {"u64", 4, MMV_TYPE_U64, MMV_SEM_DISCRETE, MMV_UNITS(0, 0, 0, 0, 0, 0), MMV_INDOM_NULL, "Another", "Number."},
    {"below.float", 5, MMV_TYPE_FLOAT, MMV_SEM_INSTANT, MMV_UNITS(0, 1, 0, 0, PM_TIME_MSEC, 0), MMV_INDOM_NULL, "A", "B"},
    {"below.double", 6, MMV_TYPE_DOUBLE, MMV_SEM_INSTANT, MMV_UNITS(0, 0, 0, 0, 0, 0), 1, "A", "B"},
    {"text", 7, MMV_TYPE_STRING, MMV_SEM_DISCRETE, MMV_UNITS(0, 0, 0, 0, 0, 0), MMV_INDOM_NULL, "A", "B"},
    {"elapsed", 8, MMV_TYPE_ELAPSED, MMV_SEM_COUNTER, MMV_UNITS(0, 1, 0, 0, PM_TIME_USEC, 0), MMV_INDOM_NULL, "A", "B"},
};

int
main(int argc, char **argv)
{
    void *old = mmv_stats_init("old", 321, 0, metrics, sizeof(metrics) / sizeof(metrics[0]), indoms, 1);
    mmv_registry_t *registry = mmv_stats_registry("labelled", 322, MMV_FLAG_NOPREFIX);
    pmUnits none = MMV_UNITS(0, 0, 0, 0, 0, 0);
    void *labelled;
    char (*names)[32];
    int i, count = argc > 1 ? atoi(argv[1]) : 3;

    /* The registry keeps the names of instances. */
    names = calloc(count, sizeof(names[0]));
    if (old == NULL || names == NULL)
	return 1;
    mmv_stats_set(old, "i32", "", -7);
    mmv_stats_set(old, "u32", "zero", 8);
    mmv_stats_set(old, "u32", "five", 9);
    mmv_stats_set(old, "i64", "five", -10);
    mmv_stats_set(old, "u64", "", 11);
    mmv_stats_set(old, "below.float", "", 12.5);
    mmv_stats_set(old, "below.double", "zero", -13.25);
    mmv_stats_set_string(old, "text", "", "fourteen");
    mmv_stats_set(old, "elapsed", "", 15);

    mmv_stats_add_indom(registry, 1, "Many", "instances");
    for (i = 0; i < count; i++) {
	pmsprintf(names[i], sizeof(names[i]), "inst%d", i);
	mmv_stats_add_instance(registry, 1, i, names[i]);
    }
    mmv_stats_add_metric(registry, "labelled.many", 1, MMV_TYPE_U64, MMV_SEM_COUNTER, none, 1, "Many values", "of one metric");
    mmv_stats_add_metric(registry, "labelled.one", 2, MMV_TYPE_I32, MMV_SEM_INSTANT, none, 0, "One value", "of one metric");
    mmv_stats_add_registry_label(registry, "cluster", "322", MMV_NUMBER_TYPE, 0);
    mmv_stats_add_indom_label(registry, 1, "domain", "\"many\"", MMV_STRING_TYPE, 0);
    mmv_stats_add_metric_label(registry, 2, "truth", "true", MMV_BOOLEAN_TYPE, 0);
    mmv_stats_add_instance_label(registry, 1, 2, "second", "\"yes\"", MMV_STRING_TYPE, 0);
    if ((labelled = mmv_stats_start(registry)) == NULL)
	return 2;
    for (i = 0; i < count && i < 100; i++)
	mmv_stats_set(labelled, "labelled.many", names[i], 1000 + i);
    mmv_stats_set(labelled, "labelled.one", "", 42);
    return 0;
}
