/*
 * Files that are larger than what they hold: the first bad line ends the load, however much follows it, and what is behind it is neither
 * read nor kept in memory. CACHE-90, CACHE-94.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define HEADER "2 0 2147483647\n"
#define HOLE ((off_t)20 << 30)

int
main(void)
{
    static const struct { const char *what, *before, *after; } files[] = {
	{ "hole", "", "" }, { "hole behind the first line", HEADER, "" }, { "hole behind a record", HEADER "1 5 a\n", "" },
	{ "hole in the first line", "2 0 7", "\n1 5 a\n" }, { "hole in a name", HEADER "1 5 a", "\n2 6 b\n" },
	{ "hole in a stamp", HEADER "1 5 a\n2 6", " b\n3 7 c\n" }, { "hole in a key", HEADER "1 5 a\n2 6 [aa", "] b\n3 7 c\n" },
	{ "hole in front", "", HEADER "1 5 a\n" },
    };
    /* What runs on is ended: the C library needs none of these seconds. */
    struct rlimit seconds = { 20, 20 };
    struct rusage usage;
    char path[4096], *name;
    pmInDom d = 0x3ec0000a;
    unsigned int i;
    int inst, sts, fd;

    pmSetProgname("cache");
    setvbuf(stdout, NULL, _IONBF, 0);
    setrlimit(RLIMIT_CPU, &seconds);
    pmdaCacheOp(d, PMDA_CACHE_LOAD);
    for (i = 0; i < sizeof(files) / sizeof(files[0]); i++, d++) {
	snprintf(path, sizeof(path), "%s/config/pmda/251.%u", getenv("PCP_VAR_DIR"), 10 + i);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	sts = write(fd, files[i].before, strlen(files[i].before)) < 0 || ftruncate(fd, HOLE) < 0 || lseek(fd, HOLE, SEEK_SET) < 0 ||
	    write(fd, files[i].after, strlen(files[i].after)) < 0;
	close(fd);
	if (sts) {
	    perror(path);
	    return 1;
	}
	sts = pmdaCacheOp(d, PMDA_CACHE_LOAD);
	remove(path);
	printf("%s: %d of %d", files[i].what, sts, pmdaCacheOp(d, PMDA_CACHE_SIZE));
	for (inst = 0; inst < 8; inst++)
	    if (pmdaCacheLookup(d, inst, &name, NULL) >= 0)
		printf(" %d \"%s\"", inst, name);
	printf("\n");
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%s memory\n", usage.ru_maxrss < 64 * 1024 ? "little" : "much");
    return 0;
}
