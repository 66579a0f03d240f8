/*
 * Every kind of request cut short at each word, one word too long, and with each word changed: which ones are refused, and what
 * is said of that under debug options. Since 6.3.1: earlier releases read some of them, or die (WIRE-60, WIRE-70). Left out are
 * stores and names of which there are none, attributes without a name (loop_empty), and requests of instances, of which the C
 * library may die (fixed/loop_undecodable). WIRE-15 WIRE-60 MAIN-2 MAIN-30
 */
#include "loop.h"

static const char *const good[] = {
    "0000001c 00007002 00000000 00000000 00000000 00000000 00000000",
    "00000040 00007002 00000000 00000005 00000001 00000002 00000000 3f400000 00000001 00000001 00000000"
	" 3f400001 00000000 00000000 00000000 00000002",
    "00000028 00007003 00000007 00000000 00000000 00000000 00000003 3f400009 ffffffff 00000000",
    "00000010 00007004 00000000 3f400001",
    "00000014 00007008 00000000 3f400801 00000006",
    "0000002c 0000700e 00000000 00000009 00000001 00000001 00000007 00000008 6b732e64 796e2e61 00000000",
    "00000028 0000700e 00000000 00000004 00000000 00000002 00000001 617e7e7e 00000001 627e7e7e",
    "00000018 0000700d 00000000 00000000 00000001 3f401401",
    "00000018 0000700f 00000000 00000001 00000003 612e627e",
    "00000018 00007010 00000000 00000005 00000003 6162637e",
    "00000014 00007012 00000000 3f400801 00000010",
    "00000014 00007011 00000003 00000005 74616e79",
    "00000010 00007000 00000005 ffffcf98",
    "00000040 00007001 00000000 00000009 00000000 00000002 3f400005 00000001 00000000 ffffffff 0000000b"
	" ffffffff 00000001 00000000 ffffffff 0000000b",
};

/* The word of a PDU in hexadecimal. */
static char *
word(char *hex, int place)
{
    return hex + place * 9;
}

static void
give(char *hex)
{
    int kind = strtol(word(hex, 1), NULL, 16), words = (strlen(hex) + 1) / 9;
    int counted = kind == 0x7001 || kind == 0x700e;

    if (counted && words > 5 && strncmp(word(hex, 5), "00000000", 8) == 0)
	return;
    if (kind == 0x7011 && words > 3 && strtoul(word(hex, 3), NULL, 16) - 1 >= 16)
	return;
    if (kind == 0x7000 || kind == 0x7002 || kind == 0x7011)
	tell(hex);
    else
	ask(hex);
}

static void
resize(char *hex, int words)
{
    int before = (strlen(hex) + 1) / 9;
    char length[20];

    if (words > before)
	strcat(hex, " 00000000");
    else
	word(hex, words)[-1] = '\0';
    sprintf(length, "%08x", 4 * words);
    memcpy(hex, length, 8);
}

int
main(void)
{
#if PM_VERSION_CURRENT >= PM_VERSION(6,3,1)
    static const char *const others[] = { "00000000", "00000001", "00000005", "ffffffff", "7fffffff", "80000000" };
    unsigned int i, j;
    char hex[400];

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
	int words = (strlen(good[i]) + 1) / 9, place;

	start(plain_agent);
	for (place = 3; place <= words + 1; place++) {
	    strcpy(hex, good[i]);
	    resize(hex, place);
	    give(hex);
	}
	for (place = 3; place < words; place++) {
	    for (j = 0; j < sizeof(others) / sizeof(others[0]); j++) {
		strcpy(hex, good[i]);
		memcpy(word(hex, place), others[j], 8);
		give(hex);
	    }
	}
	finish();
    }
#else
    (void)give;
    (void)resize;
    (void)good;
#endif
    return 0;
}
