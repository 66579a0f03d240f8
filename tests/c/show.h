/*
 * SHOW makes a call, then prints its text and its result, one call a statement. So a line that differs names its call, and the order of
 * calls is never the compiler's choice.
 */
#ifndef SHOW_H
#define SHOW_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define SHOW(call) do { int sts_ = (call); printf("%s = %d\n", #call, sts_); fflush(stdout); } while (0)

#endif
