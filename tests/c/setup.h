/* Prints the fields of an agent after set-up. */
#ifndef SETUP_H
#define SETUP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"

static inline const char *
setup_text(const char *text)
{
    return text ? text : "NULL";
}

#define SETUP_METHOD(table, slot, stock) \
    printf(" %s %s", #slot, (table)->slot == (stock) ? "stock" : (table)->slot == NULL ? "NULL" : "other")

/* The extension, field by field, but for addresses. */
static inline void
setup_ext(const pmdaExt *ext)
{
    if (ext == NULL) {
	printf("  no ext\n");
	return;
    }
    printf("  flags 0x%x e_ext %s sockname %s name %s logfile %s helptext %s\n", ext->e_flags, ext->e_ext ? "set" : "NULL",
	setup_text(ext->e_sockname), setup_text(ext->e_name), setup_text(ext->e_logfile), setup_text(ext->e_helptext));
    printf("  status %d infd %d outfd %d port %d singular %d ordinal %d direct %d domain %d nmetrics %d nindoms %d help %d\n",
	ext->e_status, ext->e_infd, ext->e_outfd, ext->e_port, ext->e_singular, ext->e_ordinal, ext->e_direct, ext->e_domain,
	ext->e_nmetrics, ext->e_nindoms, ext->e_help);
    printf("  prof %s io %d indoms %s idp %s metrics %s context %d\n", ext->e_prof ? "set" : "NULL", (int)ext->e_io,
	ext->e_indoms ? "set" : "NULL", ext->e_idp ? "set" : "NULL", ext->e_metrics ? "set" : "NULL", ext->e_context);
    printf("  callbacks: result %d fetch %d check %d done %d end %d label %d\n", ext->e_resultCallBack != NULL,
	ext->e_fetchCallBack != NULL, ext->e_checkCallBack != NULL, ext->e_doneCallBack != NULL, ext->e_endCallBack != NULL,
	ext->e_labelCallBack != NULL);
}

/* The dispatch table; every slot is read, so the table must be of full size. */
static inline void
setup_table(const pmdaInterface *table)
{
    printf("  domain %d interface %u pmapi %u flags 0x%x status %d\n ", table->domain, table->comm.pmda_interface,
	table->comm.pmapi_version, table->comm.flags, table->status);
    SETUP_METHOD(table, version.any.profile, pmdaProfile);
    SETUP_METHOD(table, version.any.fetch, pmdaFetch);
    SETUP_METHOD(table, version.any.desc, pmdaDesc);
    SETUP_METHOD(table, version.any.instance, pmdaInstance);
    SETUP_METHOD(table, version.any.text, pmdaText);
    SETUP_METHOD(table, version.any.store, pmdaStore);
    printf("\n ");
    SETUP_METHOD(table, version.four.pmid, pmdaPMID);
    SETUP_METHOD(table, version.four.name, pmdaName);
    SETUP_METHOD(table, version.four.children, pmdaChildren);
    SETUP_METHOD(table, version.six.attribute, pmdaAttribute);
    SETUP_METHOD(table, version.seven.label, pmdaLabel);
    printf("\n");
}

static inline int
setup_fetch(pmdaMetric *metric, unsigned int inst, pmAtomValue *value)
{
    (void)metric;
    (void)inst;
    value->l = 1;
    return 1;
}

/* A daemon of the given interface version that is ready for pmdaInit, and its name "agent". */
static inline void
setup_daemon(pmdaInterface *table, int interface, int domain)
{
    memset(table, 0, sizeof(*table));
    pmdaDaemon(table, interface, "agent", domain, "agent.log", NULL);
    pmdaSetFetchCallBack(table, setup_fetch);
}

#endif
