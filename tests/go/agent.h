#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	250
#define WORKERS	8
#define NAMES	1000

/* A DSO agent whose fetch callback is the function goFetch; NULL if it could not be made. */
extern pmdaInterface *agent_new(void);
/* Fetches both metrics; how many values there are, or a negative error, and the sum of all. */
extern int agent_fetch(pmdaInterface *, unsigned long long *sum);
extern pmInDom agent_indom(void);
