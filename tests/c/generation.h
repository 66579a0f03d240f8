/*
 * What PCP 7 calls pmdaResult, the result of a fetch with a struct timeval, has no name of its own in PCP 6. Programs that
 * are built with the headers of either generation include this behind <pcp/pmda.h>.
 */
#ifndef pmdaResult
#define pmdaResult pmResult
#endif
