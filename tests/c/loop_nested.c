/*
 * Methods and callbacks that call the loop themselves: each request is answered once, in the order in which the methods
 * end, with requests that wait already and with requests that come one by one. MAIN-2 MAIN-53 WIRE-10
 */
#include "loop.h"

static int depth, most;

static void
serve_another(const char *what)
{
    int status;

    if (depth >= most)
	return;
    depth++;
    status = __pmdaMainPDU(&dispatch);
    say("%s: depth %d status %d", what, depth, status);
    depth--;
}

static int
nesting_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    serve_another("desc");
    return own_desc(pmid, desc, ext);
}

static int
nesting_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    pmID before = pmids[0];

    serve_another("fetch");
    say("the request is%s what it was", pmids[0] == before ? "" : " not");
    return own_fetch(n, pmids, result, ext);
}

static int
nesting_profile(pmProfile *profile, pmdaExt *ext)
{
    serve_another("profile");
    return own_profile(profile, ext);
}

static int
nesting_label(int ident, int type, pmLabelSet **sets, pmdaExt *ext)
{
    serve_another("label");
    return own_label(ident, type, sets, ext);
}

static void
nesting_result(pmdaResult *result)
{
    serve_another("result callback");
    own_result(result);
}

static void
nesting_done(void)
{
    serve_another("done callback");
}

static void
body(void)
{
    agent(7);
    dispatch.version.seven.desc = nesting_desc;
    dispatch.version.seven.fetch = nesting_fetch;
    dispatch.version.seven.profile = nesting_profile;
    dispatch.version.seven.label = nesting_label;
    extension.e_resultCallBack = nesting_result;
    if (most == 1)
	extension.e_doneCallBack = nesting_done;
    run_loop();
}

/* Ten requests with replies, and two without. */
static const char *requests[] = {
    "00000010 00007004 00000000 3f400000",
    "00000014 00007008 00000000 3f400000 00000005",
    "00000014 00007012 00000000 3f400000 00000020",
    "00000010 00007004 00000000 3f400001",
    "00000030 00007002 00000000 00000000 00000000 00000001 00000000 3f400000 00000001 00000001 00000000 00000002",
    "00000024 00007003 00000007 00000000 00000000 00000000 00000002 3f400008 3f400009",
    "00000020 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000000",
    "00000030 00007002 00000000 00000000 00000001 00000001 00000000 3f400003 00000001 00000001 00000000 00000009",
    "00000014 00007012 00000000 000000fd 00000002",
    "00000014 00007008 00000000 3f400000 00000009",
    "00000010 00007004 00000000 3f400002",
    "0000002c 00007001 00000000 00000009 00000000 00000001 3f400005 00000001 00000000 ffffffff 0000000b",
};

int
main(void)
{
    char all[4096];
    int i, together;

    for (most = 0; most < 4; most++) {
	for (together = 0; together < 2; together++) {
	    printf("== depth %d together %d\n", most, together);
	    fprintf(stderr, "== depth %d together %d\n", most, together);
	    start(body);
	    all[0] = '\0';
	    for (i = 0; i < 12; i++) {
		if (!together)
		    post(requests[i]);
		strcat(all, requests[i]);
	    }
	    if (together)
		post(all);
	    close(to_agent);
	    to_agent = -1;
	    for (i = 0; i < 11; i++)
		reply();
	    finish();
	}
    }
    return 0;
}
