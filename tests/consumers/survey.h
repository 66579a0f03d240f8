/*
 * How the survey prints a line, and what stands in it.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../c/generation.h"
#include <stdarg.h>

/* The start of a line; what cannot be shown in a line is escaped. */
static void
key(const char *format, ...)
{
    char	text[1024];
    va_list	args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printf("%s\t", text);
}

static void
quoted(const char *text, size_t length)
{
    putchar('"');
    for (size_t i = 0; i < length; i++) {
	unsigned char c = text[i];
	if (c == '"' || c == '\\')
	    printf("\\%c", c);
	else if (c < ' ' || c == 0x7f)
	    printf("\\%03o", c);
	else
	    putchar(c);
    }
    printf("\"\n");
}

static void
answer(int status, const char *text)
{
    if (status < 0)
	printf("error %d\n", status);
    else
	quoted(text, strlen(text));
}

static void
value(const pmValueSet *set, int i, int type)
{
    const pmValue *v = &set->vlist[i];

    printf("format %d ", set->valfmt);
    if (set->valfmt == PM_VAL_INSITU)
	printf("%d\n", v->value.lval);
    else if (v->value.pval->vtype == PM_TYPE_STRING) {
	const char *text = v->value.pval->vbuf;
	quoted(text, strnlen(text, v->value.pval->vlen - PM_VAL_HDR_SIZE));
    }
    else {
	printf("type %d ", v->value.pval->vtype);
	fflush(stdout);
	pmPrintValue(stdout, set->valfmt, type, v, 1);
	putchar('\n');
    }
}
