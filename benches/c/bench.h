/*
 * Benchmarks of libpcp_pmda through its public C interface alone: the same program runs on any implementation.
 *
 * A scenario prepares what it needs, measures a loop, and feeds everything that the library answers into a
 * checksum, so that two implementations can be compared for being right as well as for being fast.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../../tests/c/generation.h"

#define DOMAIN	250

/* What one run of a scenario found. */
struct outcome {
    double	ns;		/* time per operation in nanoseconds, or bytes where the scenario says so */
    double	count;		/* how many operations were measured */
    uint64_t	sum;		/* checksum over the answers */
};

struct scenario {
    const char	*name;
    void	(*run)(long size, struct outcome *);
};

/* The scenarios of each family end with an entry without a name. */
extern const struct scenario cache_scenarios[];
extern const struct scenario cache_file_scenarios[];
extern const struct scenario fetch_scenarios[];
extern const struct scenario instance_scenarios[];
extern const struct scenario text_scenarios[];
extern const struct scenario event_scenarios[];
extern const struct scenario tree_scenarios[];
extern const struct scenario daemon_scenarios[];
extern const struct scenario process_scenarios[];
extern const struct scenario thread_scenarios[];

/*
 * Nanoseconds of processor time of this process. Called in pairs, around what is measured: the first call of
 * a pair starts the counting of instructions, the second one stops it.
 */
extern double now(void);
/* Nanoseconds of the wall clock. */
extern double wall(void);

/* So many operations took so long. */
extern void took(struct outcome *, double ns, double count);

/*
 * How often what can be done once only is done, in as many domains, so that a few instances take time enough to
 * be measured: REPEATS, or once where there are many. A domain before them takes what the first call costs.
 */
#define REPEATS	30
extern int repeats(long size);

/* How many times a cheap operation is measured: fewer when instructions are counted (BENCH_SHORT is set). */
extern long rounds(long often);

extern void add(struct outcome *, uint64_t value);
extern void add_bytes(struct outcome *, const void *bytes, size_t length);

/* A name as instances have them; the buffer is overwritten by the next call. */
extern const char *name_of(long number);
/* A fixed random sequence, the same in every run. */
extern uint32_t next_random(uint32_t *state);

/* An instance domain of the benchmark's own agent. */
extern pmInDom indom(unsigned int serial);

/* Ends the program with a message when a condition does not hold: a benchmark of a failing call is worthless. */
extern void must(int holds, const char *what);

/* A DSO agent with the given metrics and classic instance domains, ready to fetch. */
extern pmdaInterface *agent(pmdaIndom *indoms, int nindoms, pmdaMetric *metrics, int nmetrics, int flags, pmdaFetchCallBack);
/* A table of metrics in one instance domain (or none), with the given type. */
extern pmdaMetric *metric_table(int count, int type, pmInDom domain, int stride);
/* Frees a result as pmcd does. */
extern void free_values(pmdaInterface *, pmdaResult *);

#endif
