/*
 * Each rebuild frees the table of the one before it (N-2).
 */
#include <malloc.h>
#include "pmns.h"

int
main(void)
{
    pmdaNameSpace	*tree = new_tree();
    size_t		before;
    int			i;

    insert(tree, 5, "a.b");
    pmdaTreeRebuildHash(tree, 5000);
    before = mallinfo2().uordblks;
    for (i = 0; i < 100; i++)
	pmdaTreeRebuildHash(tree, 5000 + i);
    printf("grown by a table: %s\n", mallinfo2().uordblks > before + 8000 ? "yes" : "no");
    show_names(tree, 5);
    pmdaTreeRelease(tree);
    return 0;
}
