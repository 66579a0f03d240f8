/*
 * A line of the log shows the beginning of a long text and says how many bytes are missing, whether the text comes from a file, from the
 * agent or from a label: libpcp's log takes seconds for a megabyte. DEF-19
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define LONG (1024 * 1024)

static char *text;
static int out;

/* The last bytes of the log since the last call, and whether all of its lines are short. Lines begin with time and process, "…(NUMBER) ",
   which do not count: the number has as many digits as the kernel likes. */
static void
show(const char *what)
{
    static char log[4 * LONG];
    char *mark, *line, *behind;
    ssize_t length = pread(2, log, sizeof(log) - 1, 0);
    size_t longest = 0;

    if (length < 0)
	length = 0;
    log[length] = '\0';
    for (line = strtok(log, "\n"); line != NULL; line = strtok(NULL, "\n")) {
	behind = (behind = strstr(line, ") ")) != NULL ? behind + 2 : line;
	if (strlen(behind) > longest)
	    longest = strlen(behind);
	if ((mark = strstr(line, " bytes more")) != NULL) {
	    while (mark > line && *mark != '(')
		mark--;
	    dprintf(out, "%s: ... %s\n", what, mark);
	}
	else
	    dprintf(out, "%s: no mark\n", what);
    }
    if (longest > 2048)
	dprintf(out, "%s: a line of %zu bytes\n", what, longest);
    if (ftruncate(2, 0) < 0 || lseek(2, 0, SEEK_SET) < 0)
	dprintf(out, "no file\n");
}

static void
load(const char *what, pmInDom d, const char *before, const char *after)
{
    char path[4096];
    FILE *f;
    int sts;

    snprintf(path, sizeof(path), "%s/config/pmda/251.%u", getenv("PCP_VAR_DIR"), d & 0xff);
    if ((f = fopen(path, "w")) == NULL)
	return;
    fprintf(f, "%s%s%s", before, text, after);
    fclose(f);
    sts = pmdaCacheOp(d, PMDA_CACHE_LOAD);
    dprintf(out, "%s: %d\n", what, sts);
    show(what);
    unlink(path);
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric, (void)inst, (void)atom;
    return 0;
}

int
main(void)
{
    pmdaInterface table;
    pmLabelSet *set = NULL;
    pmInDom d = 0x3ec00040;
    int queue;

    pmSetProgname("log");
    out = dup(1);
    close(2);
    if (open("long_texts.log", O_RDWR | O_CREAT | O_TRUNC, 0600) != 2)
	return 1;
    unlink("long_texts.log");
    text = malloc(LONG + 1);
    memset(text, 'x', LONG);
    text[LONG] = '\0';

    pmdaCacheOp(d, PMDA_CACHE_LOAD);
    show("no file");
    load("header", ++d, "", "\n");
    load("record", ++d, "2 0 2147483647\n9999999999 5 ", "\n");
    load("names", ++d, "2 0 2147483647\n1 5 a\n1 5 ", "\n");
    load("limit", ++d, "2 0 1\n1 5 a\n7 5 ", "\n");

    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, 99, text, NULL);
    show("agent");
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, PMDA_INTERFACE_7, "agent", text);
    pmdaSetFetchCallBack(&table, value);
    pmdaInit(&table, NULL, 0, NULL, 0);
    show("help");
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, PMDA_INTERFACE_7, text, "/none");
    pmdaInit(&table, NULL, 0, NULL, 0);
    show("both");

    text[0] = '{';
    dprintf(out, "label: %d\n", pmdaAddLabels(&set, "%s", text));
    show("label");
    text[0] = 'x';

    queue = pmdaEventNewQueue(text, 10);
    dprintf(out, "queue: %d", queue);
    dprintf(out, " %d\n", pmdaEventQueueAppend(queue, text, LONG, NULL));
    show("queue");
    return 0;
}
