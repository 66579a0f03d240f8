/* Helpers of the programs about pmdaroot: both ends of a conversation in one program. */
#ifndef ROOT_TOOLS_H
#define ROOT_TOOLS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <pcp/pmdaroot.h>
#include "descriptors.h"
#include "order.h"

static int pair[2];

static inline void
open_pair(void)
{
    struct timeval limit = { 5, 0 };

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
	exit(9);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static inline void
close_pair(void)
{
    close(pair[0]);
    close(pair[1]);
}

/* The bytes that arrived at the other end: six numbers, and what else there is. */
static inline void
arrived(const char *name, int sts)
{
    unsigned char bytes[8192];
    ssize_t got = recv(pair[1], bytes, sizeof(bytes), MSG_DONTWAIT), i;

    printf("%s: %d, %zd bytes:", name, sts, got);
    picture_order(bytes, got < 24 ? 0 : 6, 4);
    for (i = 0; i < got && i < 160; i++)
	printf("%s%02x", i % 4 ? "" : i % 32 ? " " : "\n  ", bytes[i]);
    printf("\n");
}

#endif
