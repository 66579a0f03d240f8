/*
 * pmdaResult, PCP 7's name for the result of a fetch with a struct timeval, for PCP 6, which has no name of its own for it. Programs that
 * are built with the headers of either generation include this after <pcp/pmda.h>.
 */
#ifndef pmdaResult
#define pmdaResult pmResult
#endif
