/*
 * A pmdaExt that was made by hand, with whatever the heap held in its private pointer: functions that need no record work,
 * and look nowhere. INIT-2 INST-43
 */
#include <stdint.h>
#include "setup.h"
#include "foreign.h"

int
main(void)
{
    pmdaExt *ext = foreign_ext((void *)(uintptr_t)0x10);
    pmInResult *list;
    int i, inst;

    printf("profile %d\n", pmdaProfile(NULL, ext));
    printf("instances %d:", pmdaInstance(foreign_indoms[0].it_indom, PM_IN_NULL, NULL, &list, ext));
    for (i = 0; i < list->numinst; i++)
	printf(" %d %s", list->instlist[i], list->namelist[i]);
    printf("\ncount %d\n", __pmdaCntInst(foreign_indoms[0].it_indom, ext));
    __pmdaStartInst(foreign_indoms[0].it_indom, ext);
    while (__pmdaNextInst(&inst, ext))
	printf("instance %d\n", inst);
    pmdaExtSetFlags(ext, PMDA_EXT_LABEL_CHANGE);
    printf("flags 0x%x\n", ext->e_flags);
    printf("attribute %d\n", pmdaAttribute(1, PMDA_ATTR_USERID, "0", 2, ext));
    return 0;
}
