/*
 * c-library: not run, it follows the NULL pointers
 * Methods that succeed and give nothing. WIRE-72 WIRE-73 WIRE-74 WIRE-75 MAIN-10
 */
#include "../loop.h"

static int
no_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    static pmdaResult *hollow;

    (void)pmids;
    (void)ext;
    say("fetch %d", n);
    if (n == 2) {
	free(hollow);
	hollow = calloc(1, sizeof(pmdaResult));
	hollow->numpmid = 1;
	*result = hollow;
	if (pmids[0]) {
	    hollow->vset[0] = one_set(pmids[0]);
	    hollow->vset[0]->vlist[0].value.pval->vlen = 3;
	}
    }
    return 0;
}

static int
no_instance(pmInDom indom, int inst, char *name, pmInResult **result, pmdaExt *ext)
{
    (void)indom;
    (void)name;
    (void)ext;
    if (inst == 1) {
	*result = calloc(1, sizeof(pmInResult));
	(*result)->numinst = 1;
	(*result)->namelist = calloc(1, sizeof(char *));
    }
    return 0;
}

static int
no_text(int ident, int type, char **buffer, pmdaExt *ext)
{
    (void)ident;
    (void)type;
    (void)ext;
    *buffer = NULL;
    return 0;
}

static int
no_name(pmID pmid, char ***names, pmdaExt *ext)
{
    (void)pmid;
    (void)ext;
    *names = NULL;
    return 3;
}

static int
no_children(const char *name, int traverse, char ***names, int **status, pmdaExt *ext)
{
    (void)name;
    (void)traverse;
    (void)status;
    (void)ext;
    *names = NULL;
    return 3;
}

static int
no_label(int ident, int type, pmLabelSet **sets, pmdaExt *ext)
{
    (void)ident;
    (void)type;
    (void)sets;
    (void)ext;
    return 1;
}

static void
body(void)
{
    agent(7);
    extension.e_resultCallBack = NULL;
    dispatch.version.seven.fetch = no_fetch;
    dispatch.version.seven.desc = NULL;
    dispatch.version.seven.store = NULL;
    dispatch.version.seven.attribute = NULL;
    dispatch.version.seven.instance = no_instance;
    dispatch.version.seven.text = no_text;
    dispatch.version.seven.name = no_name;
    dispatch.version.seven.children = no_children;
    dispatch.version.seven.label = no_label;
    run_loop();
}

int
main(void)
{
    start(body);
    ask("00000020 00007003 00000007 00000000 00000000 00000000 00000001 3f400009");
    ask("00000024 00007003 00000007 00000000 00000000 00000000 00000002 00000000 3f402409");
    ask("00000024 00007003 00000007 00000000 00000000 00000000 00000002 3f400002 3f402409");
    tell("00000010 00007011 ffffffff 0000000e");
    ask("00000020 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000000");
    ask("00000020 00007006 00000000 3f400000 00000000 00000000 00000001 00000000");
    ask("00000014 00007008 00000000 3f400000 00000005");
    ask("00000018 00007001 00000000 00000000 00000000 00000000");
    ask("00000018 0000700d 00000000 00000000 00000001 3f401401");
    ask("00000018 0000700f 00000000 00000001 00000003 612e627e");
    ask("00000014 00007012 00000000 3f400000 00000020");
    finish();
    return 0;
}
