/*
 * pmdaOpenLog: stderr goes to the file, an old one is replaced, "-" is stderr itself, and the other descriptors
 * stay as they are.
 * INIT-30
 */
#include <fcntl.h>
#include "setup.h"

/* Prints the content of the files, without lines that have a time. */
static void
show(const char *path)
{
    char line[512];
    FILE *file = fopen(path, "r");

    printf("%s:%s\n", path, file ? "" : " none");
    while (file && fgets(line, sizeof(line), file)) {
	if (strncmp(line, "Log for", 7) == 0)
	    line[strcspn(line, " ") + 10] = '\0', printf("  header %s\n", line);
	else if (strstr(line, "agent says"))
	    printf("  %s", line);
    }
    if (file)
	fclose(file);
}

static void
open_log(const char *path, const char *says, int status)
{
    pmdaInterface table;

    setup_daemon(&table, PMDA_INTERFACE_7, 30);
    table.version.any.ext->e_logfile = path;
    table.status = status;
    pmdaOpenLog(&table);
    fprintf(stderr, "agent says %s\n", says);
    fflush(stderr);
    printf("%s: status %d\n", says, table.status);
}

int
main(void)
{
    int file = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(file, 2) < 0)
	return 1;
    open_log("never.log", "refused", -1);
    open_log("-", "dash", 0);
    open_log("first.log", "one", 0);
    open_log("first.log", "two", 0);
    open_log("second.log", "three", 5);
    open_log("no/such/directory/log", "four", 0);
    show("stderr.txt");
    show("never.log");
    show("first.log");
    show("first.log.prev");
    show("second.log");
    unlink("stderr.txt");
    unlink("first.log");
    unlink("first.log.prev");
    unlink("second.log");
    fflush(stderr);
    _exit(0);
}
