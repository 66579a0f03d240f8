/*
 * The stock methods that have no data: pmdaProfile, pmdaStore, pmdaPMID, pmdaName, pmdaChildren, pmdaAttribute.
 * FETCH-100 FETCH-101 FETCH-102 FETCH-103 FETCH-112
 */
#include "setup.h"

static void
attributes(pmdaExt *ext)
{
    static const int known[] = { 0, 1, 8, 11, 12, 13, 14, 15, 16, 17, 18, 31, 32, 100, -1 };
    unsigned int i;

    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	printf("attribute %d: %d\n", known[i], pmdaAttribute(7, known[i], "1234", 5, ext));
}

int
main(void)
{
    static const int interfaces[] = { 4, 7 };
    pmProfile profile = { PM_PROFILE_INCLUDE, 0, NULL };
    unsigned int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    for (i = 0; i < 2; i++) {
	pmdaInterface table;
	pmdaExt *ext;
	char **names = (char **)&table, **offspring = (char **)&table;
	int *status = (int *)&table;
	pmID pmid = 17;
	int sts;

	setup_daemon(&table, interfaces[i], 30);
	ext = table.version.any.ext;
	ext->e_context = 40 + i;
	printf("interface %d\n", interfaces[i]);
	sts = pmdaProfile(&profile, ext);
	printf("profile %d kept %d\n", sts, ext->e_prof == &profile);
	sts = pmdaProfile(NULL, ext);
	printf("profile %d kept %d\n", sts, ext->e_prof == NULL);
	printf("context %d\n", pmdaGetContext());
	sts = pmdaPMID("a.b", &pmid, ext);
	printf("pmid %d: %u\n", sts, pmid);
	sts = pmdaName(17, &names, ext);
	printf("name %d: %d\n", sts, names == (char **)&table);
	sts = pmdaChildren("a", 1, &offspring, &status, ext);
	printf("children %d: %d %d\n", sts, offspring == (char **)&table, status == (int *)&table);
	printf("all NULL: %d", pmdaPMID(NULL, NULL, NULL));
	printf(" %d", pmdaName(0, NULL, NULL));
	printf(" %d\n", pmdaChildren(NULL, 0, NULL, NULL, NULL));
	printf("context %d\n", pmdaGetContext());
	printf("store %d\n", pmdaStore(NULL, ext));
	printf("context %d\n", pmdaGetContext());
	attributes(ext);
    }
    pmSetDebug("attr");
    attributes(NULL);
    pmClearDebug("attr");
    pmSetDebug("auth");
    printf("attribute %d\n", pmdaAttribute(-3, PMDA_ATTR_USERID, "0", 2, NULL));
    return 0;
}
