/*
 * When a save writes after all instances were culled, and what it leaves in the file: CACHE-22 CACHE-70
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static char path[4096];

/* What a save says, and whether it has written a file, each line with 'n' and a name at its end. */
static void
save(const char *what, pmInDom indom, int op)
{
    char line[256], *name;
    FILE *f;
    int sts;

    unlink(path);
    sts = pmdaCacheOp(indom, op);
    printf("%s: %d", what, sts);
    if ((f = fopen(path, "r")) == NULL)
	printf(", no file");
    else {
	while (fgets(line, sizeof(line), f) != NULL) {
	    line[strcspn(line, "\n")] = '\0';
	    name = strrchr(line, 'n');
	    printf(", %s", name ? name : line);
	}
	fclose(f);
    }
    printf("\n");
}

int
main(void)
{
    static const int saves[] = { PMDA_CACHE_SAVE, PMDA_CACHE_SYNC };
    pmInDom indom;
    int i;

    pmSetProgname("culled");
    for (i = 0; i < 2; i++) {
	indom = pmInDom_build(251, 1 + i);
	snprintf(path, sizeof(path), "%s/config/pmda/251.%d", getenv("PCP_VAR_DIR"), 1 + i);
	pmdaCacheOp(indom, PMDA_CACHE_LOAD);
	save("nothing", indom, saves[i]);
	printf("cull %d\n", pmdaCacheOp(indom, PMDA_CACHE_CULL));
	save("nothing culled", indom, saves[i]);
	pmdaCacheStore(indom, PMDA_CACHE_ADD, "n1", NULL);
	pmdaCacheStore(indom, PMDA_CACHE_ADD, "n2", NULL);
	pmdaCacheStore(indom, PMDA_CACHE_HIDE, "n2", NULL);
	save("two", indom, saves[i]);
	save("two again", indom, saves[i]);
	printf("cull %d\n", pmdaCacheOp(indom, PMDA_CACHE_CULL));
	save("culled", indom, saves[i]);
	printf("cull %d\n", pmdaCacheOp(indom, PMDA_CACHE_CULL));
	save("culled again", indom, saves[i]);
	pmdaCacheStore(indom, PMDA_CACHE_ADD, "n3", NULL);
	save("one", indom, saves[i]);
    }
    return 0;
}
