/* Shows label sets: every field, every slice of the JSON text, and how libpcp prints them. */
#ifndef LABEL_FIXTURE_H
#define LABEL_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

/* Frees a set, and returns the next one: zeroed as that of a caller, or none. */
static inline pmLabelSet *
label_renew(pmLabelSet *set, int zeroed)
{
    if (set != NULL)
	pmFreeLabelSets(set, 1);
    printf("--\n");
    return zeroed ? calloc(1, sizeof(*set)) : NULL;
}

static inline void
label_text(const char *text, int length)
{
    int i;

    for (i = 0; i < length; i++) {
	if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~')
	    printf("\\x%02x", (unsigned char)text[i]);
	else
	    putchar(text[i]);
    }
}

/* A set with long JSON is shown by its length and a sum. */
static inline void
label_dump(const pmLabelSet *set)
{
    int i;

    if (set == NULL) {
	printf("  no set\n");
	return;
    }
    printf("  inst %u, %d labels, compound %d, hash %s, array %s, jsonlen %u ", set->inst, set->nlabels, set->compound,
	set->hash ? "set" : "NULL", set->labels ? "set" : "NULL", set->jsonlen);
    if (set->json == NULL) {
	printf("json NULL\n");
    }
    else if (set->jsonlen > 2000) {
	unsigned long long sum = 5381;
	unsigned int at;

	for (at = 0; at < set->jsonlen; at++)
	    sum = sum * 33 + (unsigned char)set->json[at];
	printf("strlen %zu sum %llx\n", strlen(set->json), sum);
    }
    else {
	printf("strlen %zu ", strlen(set->json));
	label_text(set->json, (int)strlen(set->json));
	printf("\n");
    }
    for (i = 0; i < set->nlabels && set->labels != NULL; i++) {
	const pmLabel *label = &set->labels[i];

	if (set->nlabels > 60 && i > 2 && i < set->nlabels - 2)
	    continue;
	printf("  %d: name %u+%u ", i, label->name, label->namelen);
	label_text(set->json + label->name, label->namelen);
	printf(" flags 0x%x value %u+%u ", label->flags, label->value, label->valuelen);
	label_text(set->json + label->value, label->valuelen > 100 ? 100 : label->valuelen);
	printf("\n");
    }
    fflush(stdout);
}

/* What clients see: libpcp walks the label array and the hash of dotted names. */
static inline void
label_show(pmLabelSet *set)
{
    char buffer[4096];
    int length;

    if (set == NULL)
	return;
    pmPrintLabelSets(stdout, 0, PM_LABEL_ITEM, set, 1);
    length = pmMergeLabelSets(&set, 1, buffer, sizeof(buffer), NULL, NULL);
    printf("  merged %d %s\n", length, length > 0 ? buffer : "");
    fflush(stdout);
}

#endif
