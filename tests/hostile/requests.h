/* Well-formed requests of every kind, in host order by words; texts are spelled as they are sent. */
#ifndef HOSTILE_REQUESTS_H
#define HOSTILE_REQUESTS_H

#define VALUE	(DOMAIN << 22)	/* the metric with item 0 */
#define INDOM	((DOMAIN << 22) | 1)
#define MAXWORDS 40

typedef struct {
    int answered;	/* whether a reply belongs to it */
    int words;
    uint32_t word[MAXWORDS];
} Request;

#define TEXT4(a, b, c, d) (((uint32_t)(a) << 24) | ((b) << 16) | ((c) << 8) | (d))
#define RED_	TEXT4('r', 'e', 'd', '~')
#define AGEN	TEXT4('a', 'g', 'e', 'n')
#define T_VA	TEXT4('t', '.', 'v', 'a')
#define LUE_	TEXT4('l', 'u', 'e', '~')
#define T___	TEXT4('t', '~', '~', '~')

static const Request requests[] = {
    { 1, 11, { 0, 0x7003, 1, 0, 0, 0, 4, VALUE, VALUE + 1, VALUE + 2, VALUE + 3 } },	/* FETCH */
    { 0, 7, { 0, 0x7002, 1, 0, 0, 0, 0 } },						/* PROFILE */
    { 0, 14, { 0, 0x7002, 1, 0, 1, 1, 0, INDOM, 1, 2, 0, 0, 1, 0 } },
    { 1, 4, { 0, 0x7004, 1, VALUE } },							/* DESC_REQ */
    { 1, 8, { 0, 0x7006, 1, INDOM, 0, 0, 0xffffffff, 0 } },				/* INSTANCE_REQ */
    { 1, 9, { 0, 0x7006, 1, INDOM, 0, 0, 0xffffffff, 3, RED_ } },
    { 1, 8, { 0, 0x7006, 1, INDOM, 0, 0, 1, 0 } },
    { 1, 5, { 0, 0x7008, 1, VALUE, 5 } },						/* TEXT_REQ */
    { 1, 5, { 0, 0x7008, 1, INDOM, 10 } },
    { 1, 6, { 0, 0x700d, 1, 0, 1, VALUE } },						/* PMNS_IDS */
    { 1, 10, { 0, 0x700e, 1, 12, 0, 1, 11, AGEN, T_VA, LUE_ } },			/* PMNS_NAMES */
    { 1, 7, { 0, 0x700f, 1, 1, 5, AGEN, T___ } },					/* PMNS_CHILD */
    { 1, 7, { 0, 0x7010, 1, 0, 5, AGEN, T___ } },					/* PMNS_TRAVERSE */
    { 0, 6, { 0, 0x7011, 1, 5, AGEN, T___ } },						/* ATTR */
    { 1, 5, { 0, 0x7012, 1, 0xffffffff, 1 } },						/* LABEL_REQ */
    { 1, 5, { 0, 0x7012, 1, DOMAIN, 2 } },
    { 1, 5, { 0, 0x7012, 1, VALUE, 8 } },
    { 1, 5, { 0, 0x7012, 1, INDOM, 32 } },
    { 1, 11, { 0, 0x7001, 1, 0, 0, 1, VALUE, 1, 0, 0xffffffff, 7 } },			/* RESULT: a store */
    { 1, 13, { 0, 0x7001, 1, 0, 0, 1, VALUE + 1, 1, 1, 0xffffffff, 11, 0x06000008, RED_ } },
    { 1, 22, { 0, 0x7001, 1, 0, 0, 1, VALUE, 1, 1, 0xffffffff, 11, 0x0900002c, 1, 1, 2, 0, 1,	/* an event array */
	VALUE, 0x03000010, 1, 2, 0, 0 } },
    { 1, 17, { 0, 0x7001, 1, 0, 0, 2, VALUE + 1, 1, 1, 0xffffffff, 16, VALUE, 0xffffffff, 0, 0, 0, 0x06000004 } },
    { 0, 4, { 0, 0x7000, 1, 0xffffcf99 } },						/* ERROR: end of context */
    { 0, 4, { 0, 0x700a, 1, 0 } },							/* CONTROL_REQ */
    { 0, 5, { 0, 0x700c, 1, 1, 0x01020000 } },						/* CREDS, once more */
};
#define REQUESTS ((int)(sizeof(requests) / sizeof(requests[0])))

/* The request as it is sent; its number of bytes. */
static inline int
encode(const Request *request, unsigned char *bytes)
{
    int i;

    for (i = 0; i < request->words; i++) {
	uint32_t word = htonl(i == 0 ? (uint32_t)request->words * 4 : request->word[i]);

	memcpy(bytes + 4 * i, &word, 4);
    }
    return 4 * request->words;
}

#endif
