/*
 * A callback fetches for its own agent. The C library lets the inner fetch write over the outer one's result, and hands out freed
 * value sets. F-10, F-14, INST-43
 */
#define CASES 7, 8, 9
#include "../fetch_live.c"
