/* pmdaOpenLog: an older log is kept, stdout stays, a bad status does nothing (INIT-30). */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

int
main(void)
{
    pmdaInterface d;
    struct stat info;
    FILE *old = fopen("test.log", "w");

    fputs("old\n", old);
    fclose(old);
    pmSetProgname("test");
    memset(&d, 0, sizeof(d));
    pmdaDaemon(&d, PMDA_INTERFACE_7, "test", 250, "test.log", NULL);
    d.status = -1;
    pmdaOpenLog(&d);
    fprintf(stderr, "still the old stderr\n");
    d.status = 0;
    pmdaOpenLog(&d);
    fprintf(stderr, "in the log\n");
    printf("stdout stays\n");
    fflush(NULL);
    printf("log %d previous %d\n", stat("test.log", &info) == 0 && info.st_size > 0, stat("test.log.prev", &info) == 0);
    fflush(NULL);
    /* The log's header has times and host names in it. */
    unlink("test.log");
    _exit(0);
}
