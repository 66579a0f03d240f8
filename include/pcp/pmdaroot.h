/*
 * Part of pcp_pmda.  Generated from src/ffi and capi/pmdaroot.h.in: change those, and run "make headers".
 *
 * The messages between pmcd or an agent and pmdaroot, which does for them what needs privileges.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef PCP_PMDAROOT_H
#define PCP_PMDAROOT_H

#ifdef __cplusplus
extern "C" {
#endif

/* Versions of the protocol */
#define ROOT_PDU_VERSION1	1
#define ROOT_PDU_VERSION2	2	/* starts and stops agents */
#define ROOT_PDU_VERSION	ROOT_PDU_VERSION2

/* Types of messages */
#define PDUROOT_INFO		0x9000
#define PDUROOT_HOSTNAME_REQ	0x9001
#define PDUROOT_HOSTNAME	0x9002
#define PDUROOT_PROCESSID_REQ	0x9003
#define PDUROOT_PROCESSID	0x9004
#define PDUROOT_CGROUPNAME_REQ	0x9005
#define PDUROOT_CGROUPNAME	0x9006
#define PDUROOT_STARTPMDA_REQ	0x9007
#define PDUROOT_STARTPMDA	0x9008
#define PDUROOT_STOPPMDA_REQ	0x9009
#define PDUROOT_STOPPMDA	0x900a

/* What a server can do */
typedef enum {
    PDUROOT_FLAG_HOSTNAME	= (1<<0),
    PDUROOT_FLAG_PROCESSID	= (1<<1),
    PDUROOT_FLAG_CGROUPNAME	= (1<<2)
} __pmdaRootServerFeature;

/* The start of each message */
typedef struct {
    int		type;		/* PDUROOT_* */
    int		length;		/* of the message with this header */
    int		status;		/* 0, or a negative error code */
    int		version;	/* ROOT_PDU_VERSION* */
} __pmdaRootPDUHdr;

/* The first message on a connection, from the server */
typedef struct {
    __pmdaRootPDUHdr	hdr;
    int			features;	/* PDUROOT_FLAG_* bits */
    int			zeroed;
} __pmdaRootPDUInfo;

/* Asks for the host name, the process or the control group of a container, and answers */
typedef struct {
    __pmdaRootPDUHdr	hdr;
    int			pid;
    int			namelen;
    char		name[MAXPATHLEN];	/* namelen bytes are sent */
} __pmdaRootPDUContainer;

#define MAXPMDALEN	64	/* for the label of an agent */

/* Asks for the start of an agent, and answers */
typedef struct {
    __pmdaRootPDUHdr	hdr;
    int			pid;			/* answer: the process */
    int			infd;			/* answer: its standard input */
    int			outfd;			/* answer: its standard output */
    int			ipctype;		/* request: pipe or socket */
    int			namelen;		/* request: bytes in name */
    int			argslen;		/* request: bytes in args */
    char		name[MAXPMDALEN];	/* request: label of the agent */
    char		args[MAXPATHLEN];	/* request: command line */
} __pmdaRootPDUStart;

/* Asks for the end of an agent or how it ended, and answers */
typedef struct {
    __pmdaRootPDUHdr	hdr;
    int			pid;		/* the process */
    int			code;		/* as waitpid gives it */
    int			force;		/* terminate it, do not wait */
    int			zeroed;
} __pmdaRootPDUStop;


#ifdef __cplusplus
}
#endif

#endif /* PCP_PMDAROOT_H */
