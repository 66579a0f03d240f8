/*
 * What pmdaDaemon and pmdaDSO put into the structures, for each interface version, and that nothing beyond the
 * version is touched (INIT-1, INIT-2, INIT-10, INIT-11, INIT-12, INIT-13, INIT-14).
 */
#include <stdio.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define POISON 0x5a

static int
poisoned(const void *p, size_t size)
{
    const unsigned char *bytes = p;
    size_t i;

    for (i = 0; i < size; i++)
	if (bytes[i] != POISON)
	    return 0;
    return 1;
}

static const char *
method(const void *field)
{
    void *pointer;

    memcpy(&pointer, field, sizeof(pointer));
    return pointer == NULL ? "null" : poisoned(field, sizeof(pointer)) ? "untouched" : "set";
}

static void
show(const char *what, pmdaInterface *d, const char *name)
{
    pmdaExt *e = d->version.any.ext;

    printf("%s: domain %d interface %u pmapi %u flags %u status %d\n", what, d->domain, d->comm.pmda_interface,
	d->comm.pmapi_version, d->comm.flags, d->status);
    printf("  profile %s fetch %s desc %s instance %s text %s store %s", method(&d->version.seven.profile),
	method(&d->version.seven.fetch), method(&d->version.seven.desc), method(&d->version.seven.instance),
	method(&d->version.seven.text), method(&d->version.seven.store));
    printf(" pmid %s name %s children %s attribute %s label %s\n", method(&d->version.seven.pmid),
	method(&d->version.seven.name), method(&d->version.seven.children), method(&d->version.seven.attribute),
	method(&d->version.seven.label));
    if (poisoned(&d->version.any.ext, sizeof(e)) || e == NULL) {
	printf("  no extension\n");
	return;
    }
    printf("  flags %x ext %s sockname %s name %s", e->e_flags, e->e_ext ? "set" : "null", e->e_sockname ? "set" : "null",
	e->e_name == name ? "the caller's" : "other");
    printf(" logfile %s helptext %s\n", e->e_logfile ? e->e_logfile : "null", e->e_helptext ? e->e_helptext : "null");
    printf("  status %d in %d out %d port %d singular %d ordinal %d direct %d domain %d metrics %d indoms %d help %d\n",
	e->e_status, e->e_infd, e->e_outfd, e->e_port, e->e_singular, e->e_ordinal, e->e_direct, e->e_domain,
	e->e_nmetrics, e->e_nindoms, e->e_help);
    printf("  prof %d io %d tables %d %d %d callbacks %d %d %d %d %d %d context %d\n", e->e_prof != NULL, e->e_io,
	e->e_indoms != NULL, e->e_idp != NULL, e->e_metrics != NULL, e->e_resultCallBack != NULL,
	e->e_fetchCallBack != NULL, e->e_checkCallBack != NULL, e->e_doneCallBack != NULL, e->e_endCallBack != NULL,
	e->e_labelCallBack != NULL, e->e_context);
}

int
main(void)
{
    static char name[] = "test", log[] = "test.log", help[] = "help";
    pmdaInterface d;
    int version;

    for (version = -1; version <= 9; version++) {
	printf("version %d\n", version);
	memset(&d, POISON, sizeof(d));
	d.version.any.ext = NULL;
	pmdaDaemon(&d, version, name, 250, log, help);
	show("daemon", &d, name);
	memset(&d, POISON, sizeof(d));
	d.version.any.ext = NULL;
	d.domain = 17;
	pmdaDSO(&d, version, name, help);
	show("dso", &d, name);
    }
    memset(&d, 0, sizeof(d));
    d.status = -5;
    pmdaDaemon(&d, PMDA_INTERFACE_7, name, 600, NULL, NULL);
    show("status is not looked at, strings may be missing", &d, name);
    if (d.version.any.ext->e_logfile == log)
	printf("log file not copied\n");
    pmdaInterfaceMoved(&d);
    return 0;
}
