/*
 * The agent's name and the path of its help are copied when it is set up: bindings pass temporary strings. INIT-10 LABEL-25
 */
#include "setup.h"

static void
show(pmdaInterface *table)
{
    pmLabelSet *set = NULL;
    int sts = pmdaLabel(0, PM_LABEL_DOMAIN, &set, table->version.any.ext);

    printf("%s %s: %d %s\n", table->version.any.ext->e_name, setup_text(table->version.any.ext->e_helptext), sts,
	set ? set->json : "no set");
    pmFreeLabelSets(set, 1);
}

int
main(void)
{
    char *name = malloc(32), *help = malloc(32);
    pmdaInterface daemon, dso;

    memset(&daemon, 0, sizeof(daemon));
    memset(&dso, 0, sizeof(dso));
    strcpy(name, "the agent");
    strcpy(help, "/nowhere/help");
    pmdaDaemon(&daemon, PMDA_INTERFACE_7, name, 9, "log", help);
    pmdaDSO(&dso, PMDA_INTERFACE_7, name, help);
    memset(name, 'x', 31);
    memset(help, 'y', 31);
    name[31] = help[31] = '\0';
    show(&daemon);
    show(&dso);
    free(name);
    free(help);
    pmdaDSO(&dso, PMDA_INTERFACE_7, NULL, NULL);
    printf("name %s\n", setup_text(dso.version.any.ext->e_name));
    return 0;
}
