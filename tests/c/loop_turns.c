/*
 * Callbacks that turn to other descriptors and other methods while requests wait on the old ones: nothing is lost.
 * MAIN-1 MAIN-4 MAIN-53 WIRE-10
 */
#include <fcntl.h>
#include "loop.h"

static int turn_to[2];

/* The second stream of requests, which the agent finds at descriptor 20. */
static int second[2];

static int
other_text(int ident, int type, char **buffer, pmdaExt *ext)
{
    (void)ext;
    say("other text %x type %x", ident, type);
    *buffer = "from the other method";
    return 0;
}

/* Odd metrics turn to the second stream, even ones to a duplicate of the first. */
static int
turning_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    ext->e_infd = turn_to[pmid & 1];
    dispatch.version.seven.text = other_text;
    return own_desc(pmid, desc, ext);
}

/* The first stream gets another number, the second one takes its number. */
static int
moving_store(pmdaResult *result, pmdaExt *ext)
{
    int status = own_store(result, ext);

    dup2(0, 30);
    dup2(20, 0);
    ext->e_infd = 0;
    turn_to[0] = 30;
    turn_to[1] = 0;
    return status;
}

static void
turn_back(void)
{
    say("back to the first method");
    dispatch.version.seven.text = own_text;
    extension.e_doneCallBack = NULL;
}

static void
body(void)
{
    agent(7);
    close(second[1]);
    dup2(second[0], 20);
    dup2(0, 21);
    turn_to[0] = 21;
    turn_to[1] = 20;
    dispatch.version.seven.desc = turning_desc;
    dispatch.version.seven.store = moving_store;
    extension.e_checkCallBack = own_check;
    run_loop();
    extension.e_infd = turn_to[0];
    extension.e_doneCallBack = turn_back;
    pmdaMain(&dispatch);
    say("the other stream has ended as well");
}

static void
also(const char *hex)
{
    unsigned char bytes[4096];
    int n = hex_bytes(hex, bytes);

    printf("second > %s\n", hex);
    if (write(second[1], bytes, n) != n)
	exit(9);
}

#define TEXT(n)	"00000014 00007008 00000000 3f40000" #n "00000005"
#define DESC(n)	"00000010 00007004 00000000 3f40000" #n
#define STORE	"0000002c 00007001 00000000 00000009 00000000 00000001 3f400005 00000001 00000000 ffffffff 0000000b"

int
main(void)
{
    int i;

    if (pipe(second) < 0)
	return 9;
    start(body);
    close(second[0]);
    /* each stream has its requests waiting before the first is answered */
    also(TEXT(1) TEXT(2) DESC(2) TEXT(3) TEXT(4) TEXT(5) DESC(4) TEXT(6) TEXT(7));
    post(TEXT(8) DESC(1) TEXT(9) STORE TEXT(a) DESC(3) TEXT(b) TEXT(c) DESC(6) TEXT(d));
    for (i = 0; i < 15; i++)
	reply();
    close(second[1]);
    close(to_agent);
    for (i = 0; i < 4; i++)
	reply();
    to_agent = -1;
    finish();
    return 0;
}
