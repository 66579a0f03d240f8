/*
 * pmdaDaemon and pmdaDSO: the table and the extension for every interface version, and nothing beyond the methods that
 * the version defines.
 * INIT-1 INIT-2 INIT-10 INIT-11 INIT-12 INIT-13 INIT-14
 */
#include "setup.h"

/* The offset at which the methods of an interface version end. */
static size_t
end_of(int interface)
{
    if (interface >= 7)
	return sizeof(pmdaInterface);
    if (interface == 6)
	return offsetof(pmdaInterface, version.seven.label);
    if (interface >= 4)
	return offsetof(pmdaInterface, version.six.attribute);
    return offsetof(pmdaInterface, version.four.pmid);
}

static void
poison(pmdaInterface *table)
{
    memset(table, 0xa5, sizeof(*table));
    table->domain = 77;
}

static void
tail(const pmdaInterface *table, size_t from)
{
    const unsigned char *bytes = (const unsigned char *)table;
    size_t at, changed = 0;

    for (at = from; at < sizeof(*table); at++)
	changed += bytes[at] != 0xa5;
    printf("  bytes changed behind %zu: %zu\n", from, changed);
}

static void
show(const pmdaInterface *table, int good, int interface)
{
    setup_table(table);
    if (good) {
	setup_ext(table->version.any.ext);
	tail(table, end_of(interface));
    }
    else
	tail(table, offsetof(pmdaInterface, version.any.ext));
}

int
main(void)
{
    static const int interfaces[] = { 2, 3, 4, 5, 6, 7, 0, 1, 8, 255, 256, 258, -1 };
    char name[] = "agent", log[] = "agent.log", help[] = "help.path";
    unsigned int i;

    setvbuf(stderr, NULL, _IONBF, 0);
    for (i = 0; i < sizeof(interfaces) / sizeof(interfaces[0]); i++) {
	int interface = interfaces[i], good = interface >= 2 && interface <= 7;
	pmdaInterface table;

	poison(&table);
	pmdaDaemon(&table, interface, name, 200 + i, log, help);
	printf("daemon %d\n", interface);
	show(&table, good, interface);
	if (good) {
	    printf("  log copied %d, help copied %d\n", table.version.any.ext->e_logfile != log,
		table.version.any.ext->e_helptext != help);
	}
	poison(&table);
	pmdaDSO(&table, interface, name, help);
	printf("dso %d\n", interface);
	show(&table, good, interface);
	if (good)
	    printf("  help copied %d\n", table.version.any.ext->e_helptext != help);
    }

    {
	pmdaInterface table;
	pmdaExt *first;

	poison(&table);
	pmdaDaemon(&table, PMDA_INTERFACE_7, name, 5, NULL, NULL);
	printf("no log, no help\n");
	show(&table, 1, 7);
	first = table.version.any.ext;
	first->e_status = 9;
	table.status = -3;
	pmdaDaemon(&table, PMDA_INTERFACE_2, name, 6, "", "");
	printf("again: another ext %d\n", table.version.any.ext != first);
	setup_table(&table);
	setup_ext(table.version.any.ext);
	printf("  the first has status %d, domain %d\n", first->e_status, first->e_domain);
	pmdaDaemon(&table, 9, name, 8, log, help);
	printf("again, refused:\n");
	setup_table(&table);
	setup_ext(table.version.any.ext);
    }
    return 0;
}
