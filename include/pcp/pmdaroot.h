/*
 * Part of pcp_pmda.  Generated from src and capi/pmdaroot.h.in: change those, and run "make headers".
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

/*
 * Sends the introduction of a server.
 *
 * Returns:
 * The number of bytes sent, or -1 with errno set.
 */
PMDA_CALL extern int __pmdaSendRootPDUInfo(int __fd, int __features, int __status);

/*
 * Receives the introduction of a server.
 *
 * Returns:
 * The number of bytes received; the status of the message if that is not 0; a negative code for
 * another or a damaged message, with both places untouched.
 *
 * Pointers:
 * version and features are each NULL or valid for one write.
 */
PMDA_CALL extern int __pmdaRecvRootPDUInfo(int __fd, int *__version, int *__features);

/*
 * Sends a request or an answer about a container: exactly namelen bytes of name.
 *
 * Returns:
 * The number of bytes sent; -1 with errno set when sending fails; -EINVAL or
 * -E2BIG for an impossible length.
 *
 * Pointers:
 * name is NULL or readable for namelen bytes or up to a NUL.
 */
PMDA_CALL extern int __pmdaSendRootPDUContainer(int __fd, int __type, int __pid, const char *__name,
        int __namelen, int __status);

/*
 * Receives a message about a container into buf.
 *
 * Returns:
 * As __pmdaRecvRootPDUInfo; -EINVAL without a buffer.
 *
 * Pointers:
 * buf is NULL or writable for buflen bytes.
 */
PMDA_CALL extern int __pmdaRecvRootPDUContainer(int __fd, int __type, void *__buf, int __buflen);

/*
 * Decodes a message about a container.
 *
 * Returns:
 * The length of the name, to which a NUL is added in the buffer; -EINVAL when the message is too
 * short for it, -E2BIG when the buffer is.
 *
 * Pointers:
 * buf is NULL or readable for blen bytes; pid is NULL or valid for one write; name is NULL
 * or writable for namelen bytes.
 */
PMDA_CALL extern int __pmdaDecodeRootPDUContainer(void *__buf, int __blen, int *__pid, char *__name,
        int __namelen);

/*
 * Asks for an agent to be started.
 *
 * Returns:
 * As __pmdaSendRootPDUContainer.
 *
 * Pointers:
 * name and args are each NULL or readable for their lengths or up to a NUL.
 */
PMDA_CALL extern int __pmdaSendRootPDUStartReq(int __fd, int __ipctype, const char *__name, int __namelen,
        const char *__args, int __argslen);

/*
 * Receives a request to start an agent into buf.
 *
 * Returns:
 * As __pmdaRecvRootPDUContainer.
 *
 * Pointers:
 * buf is NULL or writable for buflen bytes.
 */
PMDA_CALL extern int __pmdaRecvRootPDUStartReq(int __fd, void *__buf, int __buflen);

/*
 * Tells that an agent was started, and passes its descriptors on; the caller still owns them.
 *
 * Returns:
 * As __pmdaSendRootPDUContainer.
 *
 * Pointers:
 * name is NULL or readable for namelen bytes or up to a NUL.
 */
PMDA_CALL extern int __pmdaSendRootPDUStart(int __fd, int __pid, int __infd, int __outfd, const char *__name,
        int __namelen, int __status);

/*
 * Receives the answer to a request to start an agent into buf, with the descriptors that came
 * along, or -1, in its fields infd and outfd. They are the caller's, and
 * closed on exec.
 *
 * Returns:
 * As __pmdaRecvRootPDUContainer.
 *
 * Pointers:
 * buf is NULL or writable for buflen bytes.
 */
PMDA_CALL extern int __pmdaRecvRootPDUStart(int __fd, void *__buf, int __buflen);

/*
 * Decodes a request to start an agent, or the answer.
 *
 * Returns:
 * 0; -EINVAL when the message is too short for what is wanted or a length in it is impossible,
 * -E2BIG when a buffer is too small: then nothing is stored.
 *
 * Pointers:
 * buf is NULL or readable for blen bytes; each other pointer is NULL or valid for one write,
 * those of texts for as many bytes as their sizes say.
 */
PMDA_CALL extern int __pmdaDecodeRootPDUStart(void *__buf, int __blen, int *__pid, int *__infd, int *__outfd,
        int *__ipctype, char *__name, int __namesz, char *__args, int __argssz);

/*
 * Sends a request or an answer about the end of an agent.
 *
 * Returns:
 * As __pmdaSendRootPDUInfo.
 */
PMDA_CALL extern int __pmdaSendRootPDUStop(int __fd, int __type, int __pid, int __code, int __force,
        int __status);

/*
 * Receives a message about the end of an agent into buf.
 *
 * Returns:
 * As __pmdaRecvRootPDUContainer.
 *
 * Pointers:
 * buf is NULL or writable for buflen bytes.
 */
PMDA_CALL extern int __pmdaRecvRootPDUStop(int __fd, int __type, void *__buf, int __buflen);

/*
 * Takes a message about the end of an agent apart. len is ignored, as it always was:
 * the buffer holds a whole message, which has one size.
 *
 * Returns:
 * 0, or -EINVAL without a message.
 *
 * Pointers:
 * buf is NULL or points to a whole message; each other pointer is NULL or valid for one write.
 */
PMDA_CALL extern int __pmdaDecodeRootPDUStop(void *__buf, int __len, int *__pid, int *__code, int *__force);

#ifdef __cplusplus
}
#endif

#endif /* PCP_PMDAROOT_H */
