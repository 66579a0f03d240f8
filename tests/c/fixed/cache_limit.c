/*
 * A limit set with pmdaCacheResize holds across a load (performancecopilot/pcp issue 2571), and is written back; what the file holds
 * above it is not loaded, is reported once, and is still in the file after the next save. CACHE-41, CACHE-42, CACHE-65, CACHE-91.
 */
#include <stdio.h>
#include <stdlib.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static void
file(int serial, const char *text)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/config/pmda/251.%d", getenv("PCP_VAR_DIR"), serial);
    f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static void
show(int serial)
{
    char path[4096], line[256];
    long stamp;
    int id, at;
    FILE *f;

    snprintf(path, sizeof(path), "%s/config/pmda/251.%d", getenv("PCP_VAR_DIR"), serial);
    f = fopen(path, "r");
    while (fgets(line, sizeof(line), f) != NULL)
	if (sscanf(line, "%d %ld %n", &id, &stamp, &at) == 2 && stamp > 1000000000)
	    printf("  | %d now %s", id, line + at);
	else
	    printf("  | %s", line);
    fclose(f);
}

static int
add(pmInDom d, const char *name)
{
    return pmdaCacheStore(d, PMDA_CACHE_ADD, name, NULL);
}

static void
op(pmInDom d, const char *what)
{
    int code = what[0] == 'l' ? PMDA_CACHE_LOAD : what[1] == 'a' ? PMDA_CACHE_SAVE : PMDA_CACHE_SYNC;

    printf("%s %d\n", what, pmdaCacheOp(d, code));
}

static void
resize(pmInDom d, int limit)
{
    printf("resize %d\n", pmdaCacheResize(d, limit));
}

#define FILE_TEXT "2 0 2147483647\n0 5 a\n3 6 b\n7 7 c tail\n9 8 [0aff] d\n2000000000 9  e\n"

int
main(void)
{
    pmInDom d = pmInDom_build(251, 1);
    int i;

    pmSetProgname("limit");
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("load %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));

    file(1, FILE_TEXT);
    resize(d, 5);
    op(d, "load");
    printf("above %d", pmdaCacheLookup(d, 7, NULL, NULL));
    printf(" %d\n", pmdaCacheLookupName(d, "c", NULL, NULL));
    printf("new");
    for (i = 0; i < 5; i++) {
	char name[2] = { "fghij"[i], '\0' };
	printf(" %d", add(d, name));
    }
    printf("\n");
    op(d, "save");
    show(1);
    printf("one of those above comes back, within the limit\n");
    pmdaCacheStore(d, PMDA_CACHE_CULL, "f", NULL);
    pmdaCacheOp(d, PMDA_CACHE_REORG);
    printf("back %d\n", add(d, "c"));
    op(d, "save");
    op(d, "sync");
    show(1);

    printf("written back\n");
    d++;
    file(2, "1 0\n1 5 a\n");
    resize(d, 5);
    op(d, "sync");
    op(d, "load");
    op(d, "sync");
    show(2);
    file(2, "2 1 99\n1 5 a\n6 5 far\n");
    op(d, "load");
    op(d, "sync");
    show(2);

    printf("a greater limit\n");
    resize(d, 50);
    op(d, "load");
    printf("lookup %d\n", pmdaCacheLookup(d, 6, NULL, NULL));
    op(d, "sync");
    show(2);

    printf("the file's own limit\n");
    d++;
    file(3, "2 0 5\n1 5 a\n6 5 far\n7 5 farther\n");
    op(d, "load");
    printf("new %d\n", add(d, "b"));
    op(d, "save");
    show(3);
    op(d, "load");
    printf("new %d\n", add(d, "x"));
    op(d, "save");
    show(3);
    printf("cull %d\n", pmdaCacheOp(d, PMDA_CACHE_CULL));
    op(d, "save");
    show(3);
    resize(d, 0);
    resize(d, -1);
    return 0;
}
