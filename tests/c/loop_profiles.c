/*
 * How long a profile is kept: an accepted one until the next that is accepted, a rejected one not at all, and before the
 * first one none; with the agent's method and with the stock one, short profiles and a great many of them, and the
 * instances that later fetches select. MAIN-10 MAIN-24 MAIN-30 MAIN-42 WIRE-30 FETCH-100
 */
#include <arpa/inet.h>
#include <malloc.h>
#include "loop.h"

static pmdaInstid instances[] = { { 0, "red" }, { 1, "green" }, { 2, "blue" }, { 3, "white" } };
static pmdaIndom indoms[] = { { 0x3f400001, 4, instances } };
static int stock;
static size_t start_bytes;

static size_t
in_use(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

static void
show(const pmdaExt *ext)
{
    const pmProfile *profile = ext->e_prof;
    int i, inst, sum = 0;

    if (profile == NULL) {
	say("no profile");
    } else {
	for (i = 0; i < profile->profile_len; i++)
	    if (profile->profile[i].instances_len)
		sum += profile->profile[i].instances[profile->profile[i].instances_len - 1];
	say("profile state %d n %d sum %d", profile->state, profile->profile_len, sum);
    }
    __pmdaStartInst(0x3f400001, (pmdaExt *)ext);
    while (__pmdaNextInst(&inst, (pmdaExt *)ext))
	say("  selected %d", inst);
}

/* Global state 1 is rejected, though the agent's method has looked at all of it. */
static int
choosing_profile(pmProfile *profile, pmdaExt *ext)
{
    if (profile->profile_len < 100)
	own_profile(profile, &(pmdaExt){ 0 });
    if (profile->state == 1)
	return PM_ERR_AGAIN;
    if (stock)
	return pmdaProfile(profile, ext);
    ext->e_prof = profile;
    return 0;
}

static int
showing_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    show(ext);
    if (pmid == 0x3f400001)
	start_bytes = in_use();
    if (pmid == 0x3f400002)
	say("the heap has %s", in_use() < start_bytes + 1000000 ? "not grown" : "grown");
    return own_desc(pmid, desc, ext);
}

static void
body(void)
{
    agent(7);
    extension.e_indoms = indoms;
    extension.e_nindoms = 1;
    dispatch.version.seven.profile = choosing_profile;
    dispatch.version.seven.desc = showing_desc;
    run_loop();
    show(&extension);
}

/* A profile with `n` elements of three instances each, in bytes. */
static void
profile(unsigned state, int n, int first)
{
    static uint32_t words[7 + 5 * 3000 + 3 * 3000];
    int i, w = 0;

    words[w++] = htonl(4 * (7 + 4 * n + 3 * n));
    words[w++] = htonl(0x7002);
    words[w++] = 0;
    words[w++] = 0;
    words[w++] = htonl(state);
    words[w++] = htonl(n);
    words[w++] = 0;
    for (i = 0; i < n; i++) {
	words[w++] = htonl(i == 0 ? 0x3f400001 : 0x3f400100 + i);
	words[w++] = htonl(1);
	words[w++] = htonl(3);
	words[w++] = 0;
    }
    for (i = 0; i < n; i++) {
	words[w++] = htonl(first + 5);
	words[w++] = htonl(first + 1);
	words[w++] = htonl(first);
    }
    words[0] = htonl(4 * w);
    put(words, 4 * w);
}

int
main(void)
{
    int i;

    for (stock = 0; stock < 2; stock++) {
	printf("== stock %d\n", stock);
	fprintf(stderr, "== stock %d\n", stock);
	start(body);
	ask("00000010 00007004 00000000 3f400000");
	profile(1, 1, 0);
	ask("00000010 00007004 00000000 3f400000");
	profile(0, 1, 0);
	ask("00000010 00007004 00000000 3f400000");
	profile(1, 2, 2);
	ask("00000010 00007004 00000000 3f400000");
	profile(0, 1, 2);
	ask("00000010 00007004 00000000 3f400000");
	profile(0, 0, 0);
	ask("00000010 00007004 00000000 3f400000");
	/* the sizes of blocks repeat, so that they are found at the old addresses */
	for (i = 0; i < 40; i++) {
	    profile(i % 3 == 2, 1 + i % 2, i % 4);
	    ask("00000010 00007004 00000000 3f400000");
	}
	profile(0, 3000, 1);
	ask("00000010 00007004 00000000 3f400001");
	for (i = 0; i < 60; i++)
	    profile(i % 2, 3000, i % 4);
	ask("00000010 00007004 00000000 3f400002");
	finish();
    }
    return 0;
}
