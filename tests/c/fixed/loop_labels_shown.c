/*
 * c-library: not run, it follows the NULL pointers
 * Under -Dlabels sets are shown as far as there is something to be shown: a method may announce more than it gives. WIRE-75 LABEL-21
 */
#include "../loop.h"

static int
no_label(int ident, int type, pmLabelSet **sets, pmdaExt *ext)
{
    pmLabelSet *set;
    int i, number = ident & 0x3ff;

    (void)ext;
    if (number == 0)	/* nothing but a number */
	return type == PM_LABEL_INSTANCES ? 3 : 1;
    *sets = set = calloc(3, sizeof(pmLabelSet));
    for (i = 0; i < 3; i++) {
	set[i].inst = i;
	set[i].json = strdup("{\"a\":1}");
	set[i].jsonlen = 7;
	set[i].nlabels = 1;
	set[i].labels = calloc(1, sizeof(pmLabel));
	set[i].labels->name = 2;
	set[i].labels->namelen = 1;
	set[i].labels->value = 5;
	set[i].labels->valuelen = 1;
    }
    set++;
    switch (number) {
    case 1:		/* no labels */
	free(set->labels);
	set->labels = NULL;
	break;
    case 2:		/* no text */
	free(set->json);
	set->json = NULL;
	set->jsonlen = 0;
	break;
    case 3:		/* a place outside of the text */
	set->labels->value = 60000;
	set->labels->valuelen = 60000;
	break;
    case 4:		/* an error */
	set->nlabels = PM_ERR_INST;
	break;
    }
    return 3;
}

static void
body(void)
{
    agent(7);
    dispatch.version.seven.label = no_label;
    pmSetDebug("labels");
    if (freopen("shown", "w", stderr) == NULL)
	exit(9);
    setvbuf(stderr, NULL, _IONBF, 0);
    run_loop();
}

/* How many texts were shown: what else is shown of a set is libpcp's, and differs from release to release. */
static int
texts(void)
{
    FILE *shown = fopen("shown", "r");
    char line[1024];
    int number = 0;

    while (fgets(line, sizeof line, shown) != NULL)
	number += strstr(line, "{\"a\":1}") != NULL;
    fclose(shown);
    remove("shown");
    return number;
}

int
main(void)
{
    start(body);
    ask("00000014 00007012 00000000 3f400000 00000008");
    ask("00000014 00007012 00000000 3f400000 00000020");
    ask("00000014 00007012 00000000 3f400001 00000020");
    ask("00000014 00007012 00000000 3f400002 00000020");
    ask("00000014 00007012 00000000 3f400003 00000020");
    ask("00000014 00007012 00000000 3f400004 00000020");
    ask("00000014 00007012 00000000 3f400005 00000020");
    finish();
    printf("%d texts shown\n", texts());
    return 0;
}
