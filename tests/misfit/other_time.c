/*
 * Preloaded: libpcp's pmtimevalToReal as a libpcp has it whose time_t is of the other length, 32 bits in place of 64 or 64 in
 * place of 32.
 */
#include <stdint.h>
#include <sys/time.h>

double pmtimevalToReal(const struct timeval *time)
{
    if (sizeof(time->tv_sec) == 8)
	return ((const int32_t *)time)[0] + ((const int32_t *)time)[1] / 1e6;
    return (double)((const int64_t *)time)[0] + (double)((const int64_t *)time)[1] / 1e6;
}
