/*
 * The methods and callbacks of the agent of loop.h, which writes each request to stderr.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"

/* What the methods do next; a negative number is returned as it is. */
static int answer;
static int check_answer;

static inline void
say(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "agent: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
}

static inline void
say_bytes(const char *what, const void *start, int length)
{
    int i;

    fprintf(stderr, "agent:   %s %d:", what, length);
    for (i = 0; i < length; i++)
	fprintf(stderr, " %02x", ((const unsigned char *)start)[i]);
    fprintf(stderr, "\n");
}

static inline int
own_profile(pmProfile *profile, pmdaExt *ext)
{
    int i, j;

    say("profile state %d n %d stock %d", profile->state, profile->profile_len, ext->e_prof == profile);
    for (i = 0; i < profile->profile_len; i++) {
	pmInDomProfile *entry = &profile->profile[i];
	say("  indom %x state %d n %d", entry->indom, entry->state, entry->instances_len);
	for (j = 0; j < entry->instances_len; j++)
	    say("    %d", entry->instances[j]);
    }
    if (answer >= 0)
	ext->e_prof = profile;
    return answer;
}

/* The answer to a fetch depends on the items of the metrics. */
static inline pmValueSet *
one_set(pmID pmid)
{
    static char text[] = "hello\0";
    pmValueSet *set = calloc(1, sizeof(pmValueSet) + 3 * sizeof(pmValue));
    pmAtomValue atom;
    pmValueBlock *block;
    int i, length = 0, type = 0;

    set->pmid = pmid;
    set->numval = 1;
    set->valfmt = PM_VAL_INSITU;
    set->vlist[0].inst = PM_IN_NULL;
    switch (pmID_item(pmid)) {
    case 0:
	set->vlist[0].value.lval = 0x01020304;
	return set;
    case 1:
	set->numval = 3;
	for (i = 0; i < 3; i++) {
	    set->vlist[i].inst = i;
	    set->vlist[i].value.lval = -1 - i;
	}
	return set;
    case 2:
	atom.ull = 0x0102030405060708ULL; length = 8; type = PM_TYPE_U64;
	break;
    case 3:
	atom.f = 1.5; length = 4; type = PM_TYPE_FLOAT;
	break;
    case 4:
	atom.d = 2.5; length = 8; type = PM_TYPE_DOUBLE;
	break;
    case 5:
	atom.cp = text; length = 6; type = PM_TYPE_STRING;
	break;
    case 6:
	atom.cp = text; length = 3; type = PM_TYPE_AGGREGATE;
	break;
    case 7:
	set->valfmt = 7;
	set->vlist[0].value.lval = 5;
	return set;
    case 8:
	set->numval = PM_ERR_APPVERSION;
	return set;
    case 9:
	set->numval = 0;
	return set;
    default:
	set->numval = PM_ERR_PMID;
	return set;
    }
    block = calloc(1, PM_VAL_HDR_SIZE + length);
    block->vtype = type;
    block->vlen = PM_VAL_HDR_SIZE + length;
    memcpy(block->vbuf, type == PM_TYPE_STRING || type == PM_TYPE_AGGREGATE ? (void *)atom.cp : (void *)&atom, length);
    set->valfmt = pmID_item(pmid) == 5 ? PM_VAL_SPTR : PM_VAL_DPTR;
    set->vlist[0].value.pval = block;
    return set;
}

/* Of the time stamp of own_fetch: PCP 5 sends them. */
static int microseconds = 77;

static inline int
own_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    static pmdaResult *last;
    int i;

    say("fetch %d context %d", n, ext->e_context);
    for (i = 0; i < n && i < 20; i++)
	say("  %x", pmids[i]);
    if (answer < 0)
	return answer;
    free(last);
    last = calloc(1, sizeof(pmdaResult) + n * sizeof(pmValueSet *));
    last->numpmid = n;
    last->timestamp.tv_sec = 0x18;
    last->timestamp.tv_usec = microseconds;
    for (i = 0; i < n; i++)
	last->vset[i] = one_set(pmids[i]);
    *result = last;
    return answer;
}

static inline void
own_result(pmdaResult *result)
{
    int i;

    say("result callback %d", result->numpmid);
    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];
	if (set->numval > 0 && (set->valfmt == PM_VAL_DPTR || set->valfmt == PM_VAL_SPTR))
	    free(set->vlist[0].value.pval);
	free(set);
    }
}

static inline int
own_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    (void)ext;
    say("desc %x", pmid);
    desc->pmid = pmid;
    desc->type = PM_TYPE_U32;
    desc->indom = PM_INDOM_NULL;
    desc->sem = PM_SEM_INSTANT;
    memset(&desc->units, 0, sizeof desc->units);
    desc->units.dimSpace = 1;
    desc->units.dimTime = -1;
    desc->units.dimCount = 2;
    desc->units.scaleSpace = 1;
    desc->units.scaleTime = 3;
    desc->units.scaleCount = 3;
    return answer;
}

static inline int
own_instance(pmInDom indom, int inst, char *name, pmInResult **result, pmdaExt *ext)
{
    static const char *names[] = { "red", "green1", "blue" };
    pmInResult *r;
    int i;

    (void)ext;
    say("instance %x %d %s%s%s", indom, inst, name ? "\"" : "", name ? name : "NULL", name ? "\"" : "");
    if (answer < 0)
	return answer;
    r = calloc(1, sizeof *r);
    r->indom = indom;
    r->numinst = pmInDom_serial(indom) == 9 ? 0 : inst == -1 && name == NULL ? 3 : 1;
    if (r->numinst && inst == -1) {
	r->instlist = calloc(3, sizeof(int));
	for (i = 0; i < r->numinst; i++)
	    r->instlist[i] = name ? 1 : i;
    }
    if (r->numinst && name == NULL) {
	r->namelist = calloc(3, sizeof(char *));
	for (i = 0; i < r->numinst; i++)
	    r->namelist[i] = strdup(names[r->numinst == 1 ? 1 : i]);
    }
    *result = r;
    return answer;
}

static inline int
own_text(int ident, int type, char **buffer, pmdaExt *ext)
{
    (void)ext;
    say("text %x type %x", ident, type);
    *buffer = (type & 1) ? "onehelp!" : "the long help text";
    return answer;
}

static inline int
own_store(pmdaResult *result, pmdaExt *ext)
{
    int i, j;

    (void)ext;
    say("store %d sec %ld", result->numpmid, (long)result->timestamp.tv_sec);
    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];
	say("  %x numval %d", set->pmid, set->numval);
	for (j = 0; j < set->numval; j++) {
	    pmValue *value = &set->vlist[j];
	    if (set->valfmt == PM_VAL_INSITU)
		say("    fmt 0 inst %d value %x", value->inst, value->value.lval);
	    else {
		pmValueBlock *block = value->value.pval;
		say("    fmt %d inst %d type %d vlen %d aligned %d", set->valfmt, value->inst, block->vtype, block->vlen,
		    ((uintptr_t)block & 3) == 0);
		say_bytes("bytes", block->vbuf, block->vlen - PM_VAL_HDR_SIZE);
	    }
	}
    }
    return answer;
}

static inline int
own_pmid(const char *name, pmID *pmid, pmdaExt *ext)
{
    (void)ext;
    say("pmid \"%s\"", name);
    *pmid = 0x3f401402;
    return answer;
}

/* One block: the pointers, then the strings. */
static inline char **
name_list(int n)
{
    char **list = malloc(2 * sizeof(char *) + 16);
    char *text = (char *)&list[2];

    (void)n;
    strcpy(text, "a");
    strcpy(text + 2, "bbcc");
    list[0] = text;
    list[1] = text + 2;
    return list;
}

static inline int
own_name(pmID pmid, char ***names, pmdaExt *ext)
{
    (void)ext;
    say("name %x", pmid);
    *names = name_list(2);
    return answer < 0 ? answer : 2;
}

static inline int
own_children(const char *name, int traverse, char ***offspring, int **status, pmdaExt *ext)
{
    (void)ext;
    say("children \"%s\" traverse %d", name, traverse);
    if (strcmp(name, "none") == 0)
	return 0;
    *offspring = name_list(2);
    if (strcmp(name, "nostatus") != 0) {
	*status = calloc(2, sizeof(int));
	(*status)[1] = 1;
    }
    return answer < 0 ? answer : 2;
}

static inline int
own_attribute(int context, int key, const char *value, int length, pmdaExt *ext)
{
    (void)ext;
    say("attribute context %d key %d %s length %d", context, key, value ? "value" : "NULL", length);
    if (value)
	say_bytes("value", value, length > 40 ? 40 : length);
    return answer;
}

static inline int
own_label(int ident, int type, pmLabelSet **sets, pmdaExt *ext)
{
    static const char *json[] = { "{\"inst\":0}", NULL, "{\"inst\":2}" };
    pmLabelSet *list;
    int i, n = type & PM_LABEL_INSTANCES ? 3 : 2;

    (void)ext;
    say("label %x type %x", ident, type);
    if (answer < 0 || type == 0)
	return answer < 0 ? answer : 0;
    list = calloc(n, sizeof *list);
    for (i = 0; i < n; i++) {
	list[i].inst = type & PM_LABEL_INSTANCES ? (unsigned)i : PM_IN_NULL;
	if (json[i] == NULL)
	    continue;
	list[i].nlabels = 1;
	list[i].json = strdup(json[i]);
	list[i].jsonlen = strlen(json[i]);
	list[i].labels = calloc(1, sizeof(pmLabel));
	list[i].labels->name = 2;
	list[i].labels->namelen = 4;
	list[i].labels->flags = PM_LABEL_INSTANCES;
	list[i].labels->value = 8;
	list[i].labels->valuelen = 1;
    }
    *sets = list;
    return n;
}

static inline int
own_check(void)
{
    say("check");
    return check_answer;
}

static inline void
own_done(void)
{
    say("done");
}

static inline void
own_end(int context)
{
    say("end of context %d", context);
}
