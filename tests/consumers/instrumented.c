/*
 * A program instrumented with memory mapped values (libpcp_mmv), which the mmv agent serves: sets its values, says
 * "ready", then goes on counting until its standard input ends.
 */
#include <poll.h>
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>

static mmv_instances_t parts[] = { { 0, "left" }, { 1, "right" } };

static mmv_indom_t domains[] = {
    { .serial = 1, .count = 2, .instances = parts, .shorttext = "Halves", .helptext = "The two halves" },
};

static mmv_metric_t metrics[] = {
    { .name = "counter", .item = 1, .type = MMV_TYPE_U64, .semantics = MMV_SEM_COUNTER,
      .dimension = MMV_UNITS(0, 0, 1, 0, 0, PM_COUNT_ONE), .shorttext = "Rounds", .helptext = "Rounds that were made" },
    { .name = "level", .item = 2, .type = MMV_TYPE_DOUBLE, .semantics = MMV_SEM_INSTANT, .indom = 1,
      .dimension = MMV_UNITS(0, 0, 0, 0, 0, 0), .shorttext = "Level", .helptext = "Level of each half" },
    { .name = "state", .item = 3, .type = MMV_TYPE_STRING, .semantics = MMV_SEM_DISCRETE,
      .dimension = MMV_UNITS(0, 0, 0, 0, 0, 0), .shorttext = "State", .helptext = "What the program does" },
};

int
main(void)
{
    void *values = mmv_stats_init("instrumented", 42, MMV_FLAG_PROCESS, metrics, 3, domains, 1);

    if (values == NULL) {
	perror("mmv_stats_init");
	return 1;
    }
    mmv_set_value(values, mmv_lookup_value_desc(values, "level", "left"), 1.5);
    mmv_set_value(values, mmv_lookup_value_desc(values, "level", "right"), -2.25);
    mmv_set_string(values, mmv_lookup_value_desc(values, "state", NULL), "counting", 8);
    puts("ready");
    fflush(stdout);

    struct pollfd end = { .fd = 0, .events = POLLIN };
    pmAtomValue *counter = mmv_lookup_value_desc(values, "counter", NULL);
    while (poll(&end, 1, 1) == 0)
	for (int i = 0; i < 1000; i++)
	    mmv_inc_value(values, counter, 1);
    mmv_stats_stop("instrumented", values);
    return 0;
}
