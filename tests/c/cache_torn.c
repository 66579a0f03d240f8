/*
 * A file as a crash leaves it: NUL bytes end a record, and a record without a name is not loaded. CACHE-90, CACHE-91, CACHE-92, CACHE-94.
 */
#include <stdio.h>
#include <stdlib.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define HEADER "2 0 2147483647\n"
#define TEXT(text) { text, sizeof(text) - 1 }

int
main(void)
{
    static const struct { const char *text; size_t length; } files[] = {
	TEXT(HEADER "1 5 a\0b\n2 6 c\n"), TEXT(HEADER "1 5 a\n\0\0\0\0\n2 6 c\n"), TEXT(HEADER "1 5 a\n\0\0\0\0"),
	TEXT(HEADER "1 5 a\n2 6 \0\0\n3 7 d\n"), TEXT(HEADER "1 5 a\n2\0 6 x\n3 7 d\n"), TEXT(HEADER "1 5 a\n2 6\0 x\n3 7 d\n"),
	TEXT("2 0\0 2147483647\n1 5 a\n"), TEXT("2 0 7\0 \n1 5 a\n"), TEXT("\0\0\0\0\0\0\0\0\0"), TEXT("\0\0\0\n1 5 a\n"), TEXT("\n"), TEXT("\0"),
	TEXT(HEADER "1 5 [aa\0] x\n2 6 y\n"), TEXT(HEADER "1 5 [aa] \0x\n2 6 y\n"), TEXT(HEADER "1 5 [aa] x\0y\n2 6 y"), TEXT(HEADER "1 5 [\0\n2 6 y\n"),
	TEXT(HEADER "1 5 a\0"), TEXT(HEADER "\0"), TEXT(HEADER "1 5  \0 a\n2 6 y\n"), TEXT(HEADER "\0001 5 a\n2 6 y\n"), TEXT(HEADER "1 5 a b\0\0\0\0\0\0"),
    };
    char path[4096], *name;
    pmInDom d = 0x3ec0000a;
    unsigned int i;
    int inst, sts;
    FILE *f;

    pmSetProgname("cache");
    setvbuf(stdout, NULL, _IONBF, 0);
    pmdaCacheOp(d, PMDA_CACHE_LOAD);
    for (i = 0; i < sizeof(files) / sizeof(files[0]); i++, d++) {
	snprintf(path, sizeof(path), "%s/config/pmda/251.%u", getenv("PCP_VAR_DIR"), 10 + i);
	f = fopen(path, "w");
	fwrite(files[i].text, 1, files[i].length, f);
	fclose(f);
	sts = pmdaCacheOp(d, PMDA_CACHE_LOAD);
	printf("%u: %d of %d", i, sts, pmdaCacheOp(d, PMDA_CACHE_SIZE));
	for (inst = 0; inst < 8; inst++)
	    if (pmdaCacheLookup(d, inst, &name, NULL) >= 0)
		printf(" %d \"%s\"", inst, name);
	printf(" next %d\n", pmdaCacheStore(d, PMDA_CACHE_ADD, "next", NULL));
	if (i % 2)
	    printf("  save %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE));
	else
	    remove(path);	/* the harness could not show the NULs alike */
    }
    return 0;
}
