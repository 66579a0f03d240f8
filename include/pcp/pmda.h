/*
 * Part of pcp_pmda.  Generated from src and capi/pmda.h.in: change those, and run "make headers".
 *
 * The interface of libpcp_pmda.so.3, for agents of Performance Co-Pilot.  Include <pcp/pmapi.h> first.  It serves
 * both generations of PCP: what differs between them is decided by the pmapi.h that it is used with.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef PCP_PMDA_H
#define PCP_PMDA_H

#ifndef PM_VERSION
# error "Write #include <pcp/pmapi.h> before #include <pcp/pmda.h>: pmda.h is made of its types."
#else

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Interface versions: each has the methods of the ones before it */
#define PMDA_INTERFACE_2	2	/* methods take a pmdaExt */
#define PMDA_INTERFACE_3	3	/* a fetch callback may return PMDA_FETCH_NOVALUES */
#define PMDA_INTERFACE_4	4	/* names that come and go: pmid, name, children */
#define PMDA_INTERFACE_5	5	/* client contexts, PMDA_FETCH_DYNAMIC */
#define PMDA_INTERFACE_6	6	/* attributes of clients */
#define PMDA_INTERFACE_7	7	/* labels */
#define PMDA_INTERFACE_LATEST	7

/* How an agent talks to pmcd; pmdaUnknown means pmdaPipe */
typedef enum {pmdaPipe, pmdaInet, pmdaUnix, pmdaUnknown, pmdaIPv6} pmdaIoType;

/* Structures of libpcp that agents need not look into */
typedef struct __pmnsTree  pmdaNameSpace;
typedef struct __pmHashCtl pmdaHashTable;

/*
 * The result of a fetch, with a struct timeval.  PCP 7 has given the name pmResult to another structure, so agents for
 * both generations say pmdaResult.
 */
#if PM_VERSION_CURRENT < PM_VERSION(7,0,0)
# define pmdaResult pmResult
# define pmdaFreeResult pmFreeResult
# define pmdaFreeResultValues __pmFreeResultValues
# define pmdaSortInstances pmSortInstances
extern void __pmFreeResultValues(pmResult *);
#else
# define pmdaResult pmResult_v2
# define pmdaFreeResult pmFreeResult_v2
# define pmdaFreeResultValues __pmFreeResultValues_v2
# define pmdaOffsetResult __pmOffsetResult_v2
# define pmdaSortInstances pmSortInstances_v2
extern void __pmFreeResultValues_v2(pmResult_v2 *);
#endif

/* One instance of a classic instance domain. */
typedef struct pmdaInstid {
    /* Internal instance identifier. */
    int i_inst;
    /* External instance name. */
    char *i_name;
} pmdaInstid;

/* A classic instance domain: a table that the agent owns. */
typedef struct pmdaIndom {
    /* The identifier; pmdaInit stamps the agent's domain into it. */
    pmInDom it_indom;
    /* Number of instances. */
    int it_numinst;
    /* The instances. */
    struct pmdaInstid *it_set;
} pmdaIndom;

/* One metric of an agent. */
typedef struct pmdaMetric {
    /* The agent's own. */
    void *m_user;
    /* The description. */
    pmDesc m_desc;
} pmdaMetric;

/* What a pmdaFetchCallBack returns beside negative error codes */
#define PMDA_FETCH_NOVALUES	0
#define PMDA_FETCH_STATIC	1
#define PMDA_FETCH_DYNAMIC	2	/* free the value after it was copied */

/* Cleans up a result after it was sent. */
typedef void (*pmdaResultCallBack)(pmdaResult*);

/* Gives one value to pmdaFetch. */
typedef int (*pmdaFetchCallBack)(struct pmdaMetric*, unsigned int, pmAtomValue*);

/* Runs when a PDU has arrived. */
typedef int (*pmdaCheckCallBack)(void);

/* Runs when a PDU has been served. */
typedef void (*pmdaDoneCallBack)(void);

/* Runs when a client context ends. */
typedef void (*pmdaEndContextCallBack)(int);

/* Gives the labels of one instance. */
typedef int (*pmdaLabelCallBack)(pmInDom, unsigned int, pmLabelSet**);

/*
 * The record of an agent beside its dispatch table. Its fields are the live state:
 * agents read and write them directly.
 */
typedef struct pmdaExt {
    /* PMDA_EXT_* bits. */
    unsigned int e_flags;
    /* Private to this library. */
    void *e_ext;
    /* Socket or service name. */
    char *e_sockname;
    /* Name of the agent. */
    const char *e_name;
    /* Path of the log file. */
    const char *e_logfile;
    /* Path of the help database. */
    const char *e_helptext;
    /* 0 is good. */
    int e_status;
    /* Descriptor from pmcd. */
    int e_infd;
    /* Descriptor to pmcd. */
    int e_outfd;
    /* Port number. */
    int e_port;
    /* 0 while a singular value is due, else -1. */
    int e_singular;
    /* Position in an instance domain, -1 at its end. */
    int e_ordinal;
    /* 1 when the item field of a metric is its index in the table. */
    int e_direct;
    /* The agent's domain. */
    int e_domain;
    /* Number of metrics. */
    int e_nmetrics;
    /* Number of classic instance domains. */
    int e_nindoms;
    /* Handle of the help database, negative for none. */
    int e_help;
    /* The profile received last. */
    pmProfile *e_prof;
    /* The agent's connection to pmcd. */
    pmdaIoType e_io;
    /* The classic instance domains. */
    struct pmdaIndom *e_indoms;
    /* The instance domain being walked. */
    struct pmdaIndom *e_idp;
    /* The metrics. */
    struct pmdaMetric *e_metrics;
    /* Cleans up after a fetch. */
    pmdaResultCallBack e_resultCallBack;
    /* Gives the values. */
    pmdaFetchCallBack e_fetchCallBack;
    /* Runs when a PDU has arrived. */
    pmdaCheckCallBack e_checkCallBack;
    /* Runs when a PDU has been served. */
    pmdaDoneCallBack e_doneCallBack;
    /* The client context of the request. */
    int e_context;
    /* Runs when a client context ends. */
    pmdaEndContextCallBack e_endCallBack;
    /* Gives the labels of one instance. */
    pmdaLabelCallBack e_labelCallBack;
} pmdaExt;

/* Bits of e_flags */
#define PMDA_EXT_FLAG_DIRECT	(1<<0)	/* the item of a metric is its index in the table */
#define PMDA_EXT_FLAG_HASHED	(1<<1)	/* metrics are looked up through a hash table */
#define PMDA_EXT_SETUPDONE	(1<<2)	/* pmdaDaemon or pmdaDSO was called */
#define PMDA_EXT_CONNECTED	(1<<3)	/* pmdaConnect has succeeded */
#define PMDA_EXT_NOTREADY	(1<<4)	/* pmcd was told to wait */
#define PMDA_EXT_LABEL_CHANGE	(1<<5)	/* tell pmcd that labels have changed */
#define PMDA_EXT_NAMES_CHANGE	(1<<6)	/* tell pmcd that names have changed */

/*
 * __PMDA_INIT_CALL makes the start function of a DSO visible where everything else is hidden; PMDA_CALL marks what
 * this library exports.
 */
#if !defined(IS_MINGW)
# if defined(__GNUC__)
#  define __PMDA_INIT_CALL __attribute__ ((visibility ("default")))
# else
#  define __PMDA_INIT_CALL
# endif
# define PMDA_CALL
#else
# define __PMDA_INIT_CALL
# if defined(PMDA_INTERNAL)
#  define PMDA_CALL __declspec(dllexport)
# else
#  define PMDA_CALL __declspec(dllimport)
# endif
#endif

/*
 * The dispatch table of an agent.  Its union has one structure for each generation of interface versions; each begins
 * like the one before it, so version.any serves for what all have.
 */
typedef struct pmdaInterface {
    int	domain;				/* the agent's domain; set by pmcd, pmdaDaemon and pmdaGetOpt */
    struct {
	unsigned int	pmda_interface : 8;	/* PMDA_INTERFACE_* */
	unsigned int	pmapi_version : 8;	/* PMAPI_VERSION */
	unsigned int	flags : 16;		/* PMDA_FLAG_* bits */
    } comm;
    int	status;				/* 0, or a negative error code: the agent cannot be used */

    union {
	struct {
	    pmdaExt *ext;
	    int	    (*profile)(pmProfile *, pmdaExt *);
	    int	    (*fetch)(int, pmID *, pmdaResult **, pmdaExt *);
	    int	    (*desc)(pmID, pmDesc *, pmdaExt *);
	    int	    (*instance)(pmInDom, int, char *, pmInResult **, pmdaExt *);
	    int	    (*text)(int, int, char **, pmdaExt *);
	    int	    (*store)(pmdaResult *, pmdaExt *);
	} any, two, three;

	struct {
	    pmdaExt *ext;
	    int	    (*profile)(pmProfile *, pmdaExt *);
	    int	    (*fetch)(int, pmID *, pmdaResult **, pmdaExt *);
	    int	    (*desc)(pmID, pmDesc *, pmdaExt *);
	    int	    (*instance)(pmInDom, int, char *, pmInResult **, pmdaExt *);
	    int	    (*text)(int, int, char **, pmdaExt *);
	    int	    (*store)(pmdaResult *, pmdaExt *);
	    int	    (*pmid)(const char *, pmID *, pmdaExt *);
	    int	    (*name)(pmID, char ***, pmdaExt *);
	    int	    (*children)(const char *, int, char ***, int **, pmdaExt *);
	} four, five;

	struct {
	    pmdaExt *ext;
	    int	    (*profile)(pmProfile *, pmdaExt *);
	    int	    (*fetch)(int, pmID *, pmdaResult **, pmdaExt *);
	    int	    (*desc)(pmID, pmDesc *, pmdaExt *);
	    int	    (*instance)(pmInDom, int, char *, pmInResult **, pmdaExt *);
	    int	    (*text)(int, int, char **, pmdaExt *);
	    int	    (*store)(pmdaResult *, pmdaExt *);
	    int	    (*pmid)(const char *, pmID *, pmdaExt *);
	    int	    (*name)(pmID, char ***, pmdaExt *);
	    int	    (*children)(const char *, int, char ***, int **, pmdaExt *);
	    int	    (*attribute)(int, int, const char *, int, pmdaExt *);
	} six;

	struct {
	    pmdaExt *ext;
	    int	    (*profile)(pmProfile *, pmdaExt *);
	    int	    (*fetch)(int, pmID *, pmdaResult **, pmdaExt *);
	    int	    (*desc)(pmID, pmDesc *, pmdaExt *);
	    int	    (*instance)(pmInDom, int, char *, pmInResult **, pmdaExt *);
	    int	    (*text)(int, int, char **, pmdaExt *);
	    int	    (*store)(pmdaResult *, pmdaExt *);
	    int	    (*pmid)(const char *, pmID *, pmdaExt *);
	    int	    (*name)(pmID, char ***, pmdaExt *);
	    int	    (*children)(const char *, int, char ***, int **, pmdaExt *);
	    int	    (*attribute)(int, int, const char *, int, pmdaExt *);
	    int	    (*label)(int, int, pmLabelSet **, pmdaExt *);
	} seven;
    } version;
} pmdaInterface;

/* Bits of comm.flags */
#define PMDA_FLAG_AUTHORIZE	(1<<2)	/* the agent wants the credentials of clients */
#define PMDA_FLAG_CONTAINER	(1<<6)	/* the agent knows containers */

/* Attributes of a client, as the attribute method gets them */
#define PMDA_ATTR_USERNAME	5	/* name of the user (SASL) */
#define PMDA_ATTR_USERID	11	/* number of the user */
#define PMDA_ATTR_GROUPID	12	/* number of the group */
#define PMDA_ATTR_PROCESSID	14	/* number of the process */
#define PMDA_ATTR_CONTAINER	15	/* name of the container */

/* An agent that is loaded into its client's process */
typedef struct __pmDSO {
    int			domain;
    char		*name;
    char		*init;
    void		*handle;
    int			ctx_last_prof;	/* the context that has sent a profile last */
    pmdaInterface	dispatch;
} __pmDSO;

/* The identifier of a metric without its domain: cluster below 2^12, item below 2^10 */
#define PMDA_PMID(cluster,item) ((((cluster)&0xfff)<<10)|((item)&0x3ff))

/*
 * The units of a metric: dimensions of space, time and count, then their scales.  PMDA_EXTRAUNITS takes the extra unit
 * and its scale as well, where pmUnits has them.  C++ wants designators in the order of the fields, if it has them.
 */
#if PM_VERSION_CURRENT < PM_VERSION(7,2,0)
# ifdef HAVE_BITFIELDS_LTOR
#  define PMDA_PMUNITS(a,b,c,d,e,f) {a,b,c,d,e,f,0}
# else
#  define PMDA_PMUNITS(a,b,c,d,e,f) {0,f,e,d,c,b,a}
# endif
# define PMDA_UNITS(a,b,c,d,e,f) PMDA_PMUNITS(a,b,c,d,e,f)
#else
# ifndef __cplusplus
#  define PMDA_UNITS(a,b,c,d,e,f) {.dimSpace=a, .dimTime=b, .dimCount=c, .scaleSpace=d, .scaleTime=e, .scaleCount=f}
#  define PMDA_EXTRAUNITS(a,b,c,d,e,f,g,h) {.dimSpace=a, .dimTime=b, .dimCount=c, .scaleSpace=d, .scaleTime=e, .scaleCount=f, .extraUnit=g, .extraScale=h}
# else
#  define PMDA_UNITS(a,b,c,d,e,f) PMDA_EXTRAUNITS(a,b,c,d,e,f,0,0)
#  ifdef HAVE_BITFIELDS_LTOR
#   define PMDA_EXTRAUNITS(a,b,c,d,e,f,g,h) {a,b,c,d,e,f,g,h}
#  else
#   define PMDA_EXTRAUNITS(a,b,c,d,e,f,g,h) {h,g,f,e,d,c,b,a}
#  endif
# endif
# define PMDA_PMUNITS(a,b,c,d,e,f) PMDA_UNITS(a,b,c,d,e,f)
#endif

/* The options of an agent's command line that pmdaGetOptions handles */
#define PMDA_OPTIONS "D:d:h:i:l:pu:U:"
#define PMDA_OPTIONS_HEADER(s)	{ "", 0, '-', 0, (s) }
#define PMDA_OPTIONS_TEXT(s)	{ "", 0, '|', 0, (s) }
#define PMDA_OPTIONS_END	{ NULL, 0, 0, 0, NULL }

#define PMDAOPT_DEBUG	{ "debug",      1, 'D', "DBG", \
			NULL }
#define PMDAOPT_DOMAIN	{ "domain",	1, 'd', "NUM", \
			"use domain (numeric) for metrics domain of PMDA" }
#define PMDAOPT_HELPTEXT { "helpfile",	1, 'h', "FILE", \
			"path to PMDA metrics help text file" }
#define PMDAOPT_INET	{ "inet",	1, 'i', "PORT", \
			"pmcd IPv4 connection service name or numeric port" }
#define PMDAOPT_IPV6	{ "ipv6",	1, '6', "PORT", \
			"pmcd IPv6 connection service name or numeric port" }
#define PMDAOPT_LOGFILE	{ "log",	1, 'l', "FILE", \
			"write log to FILE rather than using default log name" }
#define PMDAOPT_PIPE	{ "pipe",	0, 'p', 0, \
			"use a pipe for communication with pmcd" }
#define PMDAOPT_UNIX	{ "unix",	1, 'u', "FILE", \
			"use a unix domain socket for communication with pmcd" }
#define PMDAOPT_USERNAME { "username",	1, 'U', "USER", \
			"run the PMDA using the named user account" }

struct pmdaOptions;
#define __pmdaOptions pmdaOptions /* the old name */

/*
 * Sees each option before the library does; a result other than 0 means that the agent has handled
 * it.
 */
typedef int (*pmdaOptionOverride)(int, struct pmdaOptions*);

/*
 * Options of an agent's command line. The fields up to __last_nonopt are libpcp's
 * pmOptions.
 */
typedef struct pmdaOptions {
    /* 0: set by the library. */
    int version;
    /* PM_OPTFLAG_* bits. */
    int flags;
    /* Letters. */
    const char *short_options;
    /* Words. */
    pmLongOptions *long_options;
    /* For the usage message. */
    const char *short_usage;
    /* Asked before the built-in handling. */
    pmdaOptionOverride override;
    /* The long option that was found. */
    int index;
    /* Index of the next argument. */
    int optind;
    /* True if errors are printed. */
    int opterr;
    /* The character that caused an error. */
    int optopt;
    /* The argument of the option. */
    char *optarg;
    /* Internal to getopt. */
    int __initialized;
    /* Internal to getopt. */
    char *__nextchar;
    /* Internal to getopt. */
    int __ordering;
    /* Internal to getopt. */
    int __posixly_correct;
    /* Internal to getopt. */
    int __first_nonopt;
    /* Internal to getopt. */
    int __last_nonopt;
    /* Number of errors. */
    int errors;
    /* The argument of -U. */
    char *username;
} pmdaOptions;

/*
 * Set-up, and the main loop of a daemon
 */

/*
 * Sets up a daemon agent: its dispatch table gets the stock methods, and an extension.
 *
 * dispatch->status is 0 afterwards, or negative. All strings are copied: bindings pass temporary
 * ones.
 *
 * Pointers:
 * dispatch is NULL or valid for writes of what interface defines. name, logfile and
 * helptext are each NULL or a C string.
 */
PMDA_CALL extern void pmdaDaemon(pmdaInterface *__dispatch, int __interface, const char *__name, int __domain,
        const char *__logfile, const char *__helptext);

/*
 * Sets up an agent that was loaded as a shared object; the loader has set the domain.
 *
 * dispatch->status is 0 afterwards, or negative. Both strings are copied: bindings pass
 * temporary ones.
 *
 * Pointers:
 * As for pmdaDaemon.
 */
PMDA_CALL extern void pmdaDSO(pmdaInterface *__dispatch, int __interface, char *__name, char *__helptext);

/*
 * Sends stderr into the agent's log file; an older file of that name becomes NAME.prev.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon has set up.
 */
PMDA_CALL extern void pmdaOpenLog(pmdaInterface *__dispatch);

/*
 * Handles the next options of the command line that every agent has, and returns the first other
 * one.
 *
 * Returns:
 * The option's character, or -1 at the end. Errors are counted in opts->errors.
 *
 * Pointers:
 * argv holds argc C strings; opts and dispatch are valid, dispatch after pmdaDaemon.
 */
PMDA_CALL extern int pmdaGetOptions(int __argc, char *const *__argv, pmdaOptions *__opts,
        pmdaInterface *__dispatch);

/*
 * As pmdaGetOptions for short options alone, with getopt's global variables as its results.
 *
 * Returns:
 * The option's character, or -1 at the end. Errors are added to *err.
 *
 * Pointers:
 * argv holds argc C strings; optstring is a C string; dispatch is valid after
 * pmdaDaemon; err is NULL or valid for a read and a write.
 */
PMDA_CALL extern int pmdaGetOpt(int __argc, char *const *__argv, const char *__optstring,
        pmdaInterface *__dispatch, int *__err);

/*
 * Prints the messages that were collected, and how the agent is used, to stderr.
 *
 * Pointers:
 * opts is NULL or valid.
 */
PMDA_CALL extern void pmdaUsageMessage(pmdaOptions *__opts);

/*
 * Adds PMDA_EXT_* flags to an agent; no function takes a flag away.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up.
 */
PMDA_CALL extern void pmdaSetFlags(pmdaInterface *__dispatch, int __flags);

/*
 * As pmdaSetFlags, for callers that have only the extension.
 *
 * Pointers:
 * pmda is NULL or valid.
 */
PMDA_CALL extern void pmdaExtSetFlags(pmdaExt *__pmda, int __flags);

/*
 * Adds PMDA_FLAG_* flags to what the agent tells pmcd when it connects; call it before
 * pmdaConnect.
 *
 * Pointers:
 * dispatch is NULL or valid.
 */
PMDA_CALL extern void pmdaSetCommFlags(pmdaInterface *__dispatch, int __flags);

/*
 * Attaches a pointer of the agent's own, which replaces the one before. The library never follows
 * it.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up.
 */
PMDA_CALL extern void pmdaSetData(pmdaInterface *__dispatch, void *__data);

/*
 * As pmdaSetData, for callers that have only the extension.
 *
 * Pointers:
 * pmda is NULL or valid.
 */
PMDA_CALL extern void pmdaExtSetData(pmdaExt *__pmda, void *__data);

/*
 * Returns the pointer that the agent has attached.
 *
 * Returns:
 * The pointer; NULL at first, and for an agent that was not set up by this library.
 *
 * Pointers:
 * pmda is NULL or valid.
 */
PMDA_CALL extern void *pmdaExtGetData(pmdaExt *__pmda);

/*
 * Serves PDUs until the stream ends or cannot be read any more.
 *
 * Pointers:
 * As __pmdaMainPDU.
 */
PMDA_CALL extern void pmdaMain(pmdaInterface *__dispatch);

/*
 * Sends a status to pmcd, in place of a reply or without a request. A failure is
 * ignored.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table with a valid extension.
 */
PMDA_CALL extern void pmdaSendError(pmdaInterface *__dispatch, int __error);

/*
 * Tells the library that the dispatch table of an agent is somewhere else now.
 *
 * Pointers:
 * dispatch is NULL or valid; its ext is NULL or valid, and was set up by some copy of this
 * library, or has NULL in e_ext.
 */
PMDA_CALL extern void pmdaInterfaceMoved(pmdaInterface *__dispatch);

/*
 * Sets the instance domains and metrics of an agent. The tables stay the agent's, and are used
 * from now on.
 *
 * The agent's domain is put into every identifier of both tables. dispatch->status is 0
 * afterwards (or what the agent has put into e_status), or PM_ERR_GENERIC with a line in the
 * log.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up; indoms and
 * metrics are each NULL or valid for reads and writes of as many elements as the counts say, for
 * as long as the agent uses them.
 */
PMDA_CALL extern void pmdaInit(pmdaInterface *__dispatch, pmdaIndom *__indoms, int __nindoms,
        pmdaMetric *__metrics, int __nmetrics);

/*
 * Opens the connection to pmcd that e_io names, and exchanges versions.
 *
 * status in the dispatch table is negative after a failure. A socket that cannot be opened ends
 * the process.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon has set up.
 */
PMDA_CALL extern void pmdaConnect(pmdaInterface *__dispatch);

/*
 * Sets the callback that cleans up a result after it was sent; NULL for none.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up.
 */
PMDA_CALL extern void pmdaSetResultCallBack(pmdaInterface *__dispatch, pmdaResultCallBack __callback);

/*
 * Sets the callback that gives pmdaFetch one value.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up.
 */
PMDA_CALL extern void pmdaSetFetchCallBack(pmdaInterface *__dispatch, pmdaFetchCallBack __callback);

/*
 * Sets the callback that runs when a PDU has arrived; a negative result refuses it. NULL for none.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up.
 */
PMDA_CALL extern void pmdaSetCheckCallBack(pmdaInterface *__dispatch, pmdaCheckCallBack __callback);

/*
 * Sets the callback that runs when a PDU has been served; NULL for none.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up.
 */
PMDA_CALL extern void pmdaSetDoneCallBack(pmdaInterface *__dispatch, pmdaDoneCallBack __callback);

/*
 * Sets the callback that runs when a client context ends. It needs interface version 5 or more,
 * also one that does not exist yet; NULL is always accepted.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up.
 */
PMDA_CALL extern void pmdaSetEndContextCallBack(pmdaInterface *__dispatch, pmdaEndContextCallBack __callback);

/*
 * Sets the callback that gives the labels of one instance; NULL for none. It needs interface
 * version 7 or more.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table that pmdaDaemon or pmdaDSO has set up.
 */
PMDA_CALL extern void pmdaSetLabelCallBack(pmdaInterface *__dispatch, pmdaLabelCallBack __callback);

/*
 * Reads one PDU and serves it. No byte after the PDU is read, since the agent may wait on the
 * descriptor.
 *
 * Returns:
 * 0 for a PDU that was served, also with an error; PM_ERR_EOF at the end of the stream; another
 * negative number when the stream cannot be read, or the agent was not set up.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table with a valid extension, whose methods follow their
 * contracts.
 */
PMDA_CALL extern int __pmdaMainPDU(pmdaInterface *__dispatch);

/*
 * Returns the descriptor that PDUs arrive on, for agents that wait on several descriptors.
 *
 * Returns:
 * The descriptor; -1 for an interface version that does not exist.
 *
 * Pointers:
 * dispatch is NULL or a dispatch table with a valid extension.
 */
PMDA_CALL extern int __pmdaInFd(pmdaInterface *__dispatch);

/*
 * The methods that serve for most agents
 */

/*
 * Fetches the values of metrics by calls of the agent's fetch callback.
 *
 * Returns:
 * 0, whatever became of each metric, with *resp set to a result that the library keeps and uses
 * again: the caller frees its value sets, not the result. Negative when there is no memory or no
 * callback; *resp is untouched then.
 *
 * Pointers:
 * pmidlist is valid for reads of numpmid elements. resp is NULL or valid for one write.
 * pmda is NULL or valid, with its tables, profile and callback.
 */
PMDA_CALL extern int pmdaFetch(int __numpmid, pmID *__pmidlist, pmdaResult **__resp, pmdaExt *__pmda);

/*
 * Returns the help text of a metric or an instance domain: the default method for help texts.
 *
 * Returns:
 * 0 with *buffer set to a text that stays until the database is closed and must not be changed
 * or freed; PM_ERR_TEXT when there is none, with *buffer set to NULL; -EINVAL when pmda is
 * NULL.
 *
 * Pointers:
 * buffer is NULL or valid for one write. pmda is NULL or valid.
 */
PMDA_CALL extern int pmdaText(int __ident, int __kind, char **__buffer, pmdaExt *__pmda);

/*
 * Returns all instances of a domain, the name of an instance, or the instance of a name:
 * the default method for instance requests.
 *
 * Returns:
 * 0 with *result set to a structure that the caller frees (each name, both lists, and the
 * structure are blocks of their own); PM_ERR_INDOM for an unknown domain, PM_ERR_INST
 * for an unknown instance, -EINVAL when result is NULL, -ENOMEM.
 * On failure *result is untouched.
 *
 * Pointers:
 * name is NULL or a C string. result is NULL or valid for one write. pmda is NULL or valid,
 * with its instance domains; a cached domain does not need it.
 */
PMDA_CALL extern int pmdaInstance(pmInDom __indom, int __inst, char *__name, pmInResult **__result,
        pmdaExt *__pmda);

/*
 * Returns the labels of a context, a domain, an instance domain, a cluster, an item, or the
 * instances of a domain: the default method for label requests.
 *
 * Returns:
 * The number of sets in *lpp; PM_ERR_TYPE for an unknown type; -EINVAL when lpp or pmda
 * is NULL; other negative codes.
 *
 * Pointers:
 * lpp is NULL or valid for reads and writes; *lpp is NULL or a valid label set, or anything
 * for a request for instances, which replaces it. pmda is NULL or valid; its label callback
 * stores blocks from malloc in the set that it gets.
 */
PMDA_CALL extern int pmdaLabel(int __ident, int __kind, pmLabelSet **__lpp, pmdaExt *__pmda);

/*
 * Stores the profile in the extension, for later fetches: the default method for profiles. The
 * profile stays the caller's.
 *
 * Returns:
 * 0; -EINVAL when pmda is NULL; -ENOMEM.
 *
 * Pointers:
 * pmda is NULL or valid. prof is NULL or a valid profile, which stays until the agent gets
 * another one.
 */
PMDA_CALL extern int pmdaProfile(pmProfile *__prof, pmdaExt *__pmda);

/*
 * Refuses to store values: the default method for stores.
 *
 * Returns:
 * PM_ERR_PERMISSION.
 *
 * Pointers:
 * pmda is NULL or valid.
 */
PMDA_CALL extern int pmdaStore(pmdaResult *__result, pmdaExt *__pmda);

/*
 * Knows no name: the default method for identifiers of names.
 *
 * Returns:
 * PM_ERR_NAME.
 */
PMDA_CALL extern int pmdaPMID(const char *__name, pmID *__pmid, pmdaExt *__pmda);

/*
 * Knows no metric: the default method for names of identifiers.
 *
 * Returns:
 * PM_ERR_PMID.
 */
PMDA_CALL extern int pmdaName(pmID __pmid, char ***__nameset, pmdaExt *__pmda);

/*
 * Knows no name: the default method for the names below a name.
 *
 * Returns:
 * PM_ERR_NAME.
 */
PMDA_CALL extern int pmdaChildren(const char *__name, int __traverse, char ***__offspring, int **__status,
        pmdaExt *__pmda);

/*
 * Takes an attribute of a client and ignores it, apart from a line under -Dattr or -Dauth: the
 * default method for attributes.
 *
 * Returns:
 * 0.
 *
 * Pointers:
 * value is NULL or a C string.
 */
PMDA_CALL extern int pmdaAttribute(int __ctx, int __attr, const char *__value, int __size, pmdaExt *__pmda);

/*
 * Describes a metric of the table: the default method for descriptions.
 *
 * Returns:
 * 0; PM_ERR_PMID when the table has no such metric, -EINVAL when pmda is NULL, and desc is
 * untouched then.
 *
 * Pointers:
 * desc is NULL or valid for one write. pmda is NULL or valid, with its metric table.
 */
PMDA_CALL extern int pmdaDesc(pmID __pmid, pmDesc *__desc, pmdaExt *__pmda);

/*
 * Instances of a domain, as the last profile selects them
 */

/*
 * Returns the number of instances of a domain. The profile is ignored.
 *
 * Returns:
 * 1 for PM_INDOM_NULL; the number of active instances of a cached domain; it_numinst of a
 * classic one; 0 for an unknown one, which is reported.
 *
 * Pointers:
 * pmda is NULL or valid, with its instance domains.
 */
PMDA_CALL extern int __pmdaCntInst(pmInDom __indom, pmdaExt *__pmda);

/*
 * Starts an iteration over the instances of a domain that the profile selects.
 *
 * Pointers:
 * pmda is NULL or valid, with its instance domains and profile.
 */
PMDA_CALL extern void __pmdaStartInst(pmInDom __indom, pmdaExt *__pmda);

/*
 * Returns the next instance of an iteration.
 *
 * Returns:
 * 1 with inst set, or 0 with inst untouched at the end.
 *
 * Pointers:
 * inst is NULL or valid for one write. pmda is NULL or valid, with its profile and the domain
 * that e_idp points to.
 */
PMDA_CALL extern int __pmdaNextInst(int *__inst, pmdaExt *__pmda);

/*
 * Help text
 */

/*
 * Opens the help database that consists of the files fname.dir and fname.pag.
 *
 * Returns:
 * A handle, 0 or more; -errno when a file cannot be read, -EINVAL when it is no help database
 * of version 2, is damaged, or fname is NULL.
 *
 * Pointers:
 * fname is NULL or a C string.
 */
PMDA_CALL extern int pmdaOpenHelp(const char *__fname);

/* Closes a help database and releases its texts; other handles do nothing. */
PMDA_CALL extern void pmdaCloseHelp(int __handle);

/*
 * Looks up a text of a metric: the one-line text when bit PM_TEXT_ONELINE is set in kind, else
 * the long one.
 *
 * Returns:
 * A text that stays until the handle is closed and must not be changed or freed, or NULL.
 */
PMDA_CALL extern char *pmdaGetHelp(int __handle, pmID __pmid, int __kind);

/*
 * Looks up a text of an instance domain: the one-line text when bit PM_TEXT_ONELINE is set in
 * kind, else the long one.
 *
 * Returns:
 * A text that stays until the handle is closed and must not be changed or freed, or NULL.
 */
PMDA_CALL extern char *pmdaGetInDomHelp(int __handle, pmInDom __indom, int __kind);

/*
 * Labels and notes, given as JSON with the conversions of printf
 *
 * Returns: the number of labels in the set, which is made where there is none; a negative error code.
 */
PMDA_CALL extern int pmdaAddLabels(pmLabelSet **, const char *, ...) __PM_PRINTFLIKE(2,3);
PMDA_CALL extern int pmdaAddNotes(pmLabelSet **, const char *, ...) __PM_PRINTFLIKE(2,3);

/*
 * Sets flags in every label of a set.
 *
 * Returns:
 * 1, or 0 when set is NULL.
 *
 * Pointers:
 * set is NULL or a valid label set.
 */
PMDA_CALL extern int pmdaAddLabelFlags(pmLabelSet *__set, int __flags);

/*
 * Metrics that come and go
 */

/* Brings a tree of dynamic names up to date; a result other than 0 means that metrics have changed. */
typedef int (*pmdaUpdatePMNS)(struct pmdaExt*, pmdaNameSpace**);

/* Gives the help text of a dynamic metric. */
typedef int (*pmdaUpdateText)(struct pmdaExt*, pmID, int, char**);

/* Fills in the second metric, a copy of the first one with the given number. */
typedef void (*pmdaUpdateMetric)(struct pmdaMetric*, struct pmdaMetric*, int);

/* Tells how many metrics are to be copied, and how many copies of each. */
typedef void (*pmdaCountMetrics)(int*, int*);

/*
 * Registers a tree of dynamic names, for all agents of the process that have none of their own.
 *
 * update updates the tree and returns whether metrics have changed, text returns help texts,
 * metric fills in copies of metrics, counts returns how many. Each may be NULL. prefix
 * names the registration for pmdaDynamicSetClusterMask; clusters is ignored.
 *
 * Pointers:
 * prefix is NULL or a C string; metrics is NULL or has nmetrics entries that are never
 * freed. The callbacks may be called for as long as the process runs, and do what their types say:
 * update stores NULL or a tree at the place that it gets; the tree stays valid for as long as it
 * is stored there.
 */
PMDA_CALL extern void pmdaDynamicPMNS(const char *__prefix, int *__clusters, int __nclusters,
        pmdaUpdatePMNS __update, pmdaUpdateText __text, pmdaUpdateMetric __metric, pmdaCountMetrics __counts,
        pmdaMetric *__metrics, int __nmetrics);

/*
 * Registers a tree of dynamic names for one agent, which then does not see those of
 * pmdaDynamicPMNS any more.
 *
 * Pointers:
 * As pmdaDynamicPMNS; ext is NULL or was set up by pmdaDaemon or pmdaDSO.
 */
PMDA_CALL extern void pmdaExtDynamicPMNS(const char *__prefix, int *__clusters, int __nclusters,
        pmdaUpdatePMNS __update, pmdaUpdateText __text, pmdaUpdateMetric __metric, pmdaCountMetrics __counts,
        pmdaMetric *__metrics, int __nmetrics, pmdaExt *__ext);

/*
 * Meant to record a mask for the cluster numbers below a prefix that was registered with
 * pmdaDynamicPMNS, which nothing reads.
 *
 * Returns:
 * 0; -EINVAL when the prefix is not registered or NULL.
 *
 * Pointers:
 * prefix is NULL or a C string.
 */
PMDA_CALL extern int pmdaDynamicSetClusterMask(const char *__prefix, unsigned int __mask);

/*
 * Finds the tree that has name, after all trees were brought up to date.
 *
 * Returns:
 * The first such tree, which belongs to the agent, or NULL. Branches are found as well as leaves.
 *
 * Pointers:
 * pmda is NULL or valid, name NULL or a C string; the trees that the callbacks give are valid.
 */
PMDA_CALL extern pmdaNameSpace *pmdaDynamicLookupName(pmdaExt *__pmda, const char *__name);

/*
 * Finds the tree that has a name for pmid, after all trees were brought up to date.
 *
 * Returns:
 * The first such tree, which belongs to the agent, or NULL.
 *
 * Pointers:
 * pmda is NULL or valid; the trees that the callbacks give are valid.
 */
PMDA_CALL extern pmdaNameSpace *pmdaDynamicLookupPMID(pmdaExt *__pmda, pmID __pmid);

/*
 * Asks the text callback of the first registration that has a name for pmid, after all trees
 * were brought up to date.
 *
 * Returns:
 * What the callback returns; -ENOENT when no registration has the metric, or it has no such
 * callback; -EINVAL when buf or pmda is NULL. The text at buf is the agent's.
 *
 * Pointers:
 * buf is NULL or valid for one write, pmda NULL or valid; the trees that the callbacks give
 * are valid.
 */
PMDA_CALL extern int pmdaDynamicLookupText(pmID __pmid, int __type, char **__buf, pmdaExt *__pmda);

/*
 * Makes a new metric table for an agent: the metrics of the first registration, followed by the
 * copies that the registrations ask for. The table belongs to the library, which frees it when the
 * agent gets another one.
 *
 * Pointers:
 * pmda is NULL or valid; what was registered, and the trees that the callbacks give, are valid.
 */
PMDA_CALL extern void pmdaDynamicMetricTable(pmdaExt *__pmda);

/*
 * Sets the metric table of an agent, and builds the hash over it.
 *
 * Pointers:
 * pmda is NULL or valid; metrics is NULL or valid with nmetrics entries, for as long as it
 * is in use.
 */
PMDA_CALL extern void pmdaRehash(pmdaExt *__pmda, pmdaMetric *__metrics, int __nmetrics);

/*
 * Trees of names
 */

/*
 * Makes an empty tree of names and stores it at tree.
 *
 * Returns:
 * 0; a negative error code when there is no memory or tree is NULL. pmdaTreeRelease frees the
 * tree.
 *
 * Pointers:
 * tree is NULL or valid for one write.
 */
PMDA_CALL extern int pmdaTreeCreate(pmdaNameSpace **__tree);

/*
 * Adds the dotted name name with the identifier pmid to a tree, and the nodes above it as
 * needed.
 *
 * Lookups by name see it at once, lookups by identifier after the next pmdaTreeRebuildHash.
 *
 * Returns:
 * 0 (PCP 7: 1 when the name is there already, with the same identifier); PM_ERR_PMID when the
 * name has another identifier; -EINVAL for NULL arguments; another negative code when there is
 * no memory.
 *
 * Pointers:
 * tree is NULL or a tree, name NULL or a C string.
 */
PMDA_CALL extern int pmdaTreeInsert(pmdaNameSpace *__tree, pmID __pmid, const char *__name);

/*
 * Frees a tree with all its nodes, names and its table. NULL is allowed.
 *
 * Pointers:
 * tree is NULL or a tree that nobody uses any more.
 */
PMDA_CALL extern void pmdaTreeRelease(pmdaNameSpace *__tree);

/*
 * Builds the table from identifiers to names, for about numpmid names; the number need not be
 * exact. Sets the links from the nodes to their parents as well.
 *
 * Pointers:
 * tree is NULL or a tree.
 */
PMDA_CALL extern void pmdaTreeRebuildHash(pmdaNameSpace *__tree, int __numpmid);

/*
 * Counts the names of a tree.
 *
 * Returns:
 * The number; 0 for NULL; a negative code when there is no memory. A node with an identifier
 * counts once and hides what is below it.
 *
 * Pointers:
 * tree is NULL or a tree.
 */
PMDA_CALL extern int pmdaTreeSize(pmdaNameSpace *__tree);

/*
 * Returns the identifier of a name: a pmid method for agents that keep their names in a tree.
 *
 * Returns:
 * 0; PM_ERR_NAME when there is no tree, no such name, or it is not a leaf, and pmid is left
 * alone.
 *
 * Pointers:
 * tree is NULL or a tree, name NULL or a C string, pmid NULL or valid for one write.
 */
PMDA_CALL extern int pmdaTreePMID(pmdaNameSpace *__tree, const char *__name, pmID *__pmid);

/*
 * Returns all names of an identifier: a name method for agents that keep their names in a tree.
 *
 * Returns:
 * The number of names, stored at nameset as one block that the caller frees; PM_ERR_PMID when
 * there is no tree, no table (pmdaTreeRebuildHash) or no such identifier; -EINVAL when
 * nameset is NULL; another negative code when there is no memory.
 *
 * Pointers:
 * tree is NULL or a tree, nameset NULL or valid for one write.
 */
PMDA_CALL extern int pmdaTreeName(pmdaNameSpace *__tree, pmID __pmid, char ***__nameset);

/*
 * Returns the names below a name: a children method for agents that keep their names in a tree.
 *
 * With traverse 0 these are single components, and status tells leaves (0) from branches (1);
 * else the full names of all leaves below.
 *
 * Returns:
 * The number of names, stored at offspring and status as two blocks that the caller frees.
 * With 0 and traverse 0 nothing is stored; with 0 and any other traverse, two empty blocks.
 * PM_ERR_NAME when there is no tree or no such name; -EINVAL when offspring or status is
 * NULL; another negative code when there is no memory.
 *
 * Pointers:
 * tree is NULL or a tree, name NULL or a C string, offspring and status are NULL or valid
 * for one write.
 */
PMDA_CALL extern int pmdaTreeChildren(pmdaNameSpace *__tree, const char *__name, int __traverse,
        char ***__offspring, int **__status);

/*
 * Caches of instances
 */

/*
 * Adds, hides or culls the instance name (PMDA_CACHE_ADD, PMDA_CACHE_HIDE,
 * PMDA_CACHE_CULL).
 *
 * Returns:
 * The id of the instance; PM_ERR_INST if it does not exist and is not to be added, -EINVAL if
 * only its short name is known, or for other flags, PM_ERR_GENERIC without a name or a free id,
 * PM_ERR_INDOM for PM_INDOM_NULL.
 *
 * Pointers:
 * name is NULL or a C string. private_ is kept and given back, never followed.
 */
PMDA_CALL extern int pmdaCacheStore(pmInDom __indom, int __flags, const char *__name, void *__private_);

/*
 * As pmdaCacheStore, with an id made of keylen bytes of key, or of the name when there is
 * no key.
 *
 * Returns:
 * As pmdaCacheStore; also PM_ERR_INST when name and key belong to different instances.
 *
 * Pointers:
 * name is NULL or a C string; key is NULL or valid for reads of keylen bytes.
 */
PMDA_CALL extern int pmdaCacheStoreKey(pmInDom __indom, int __flags, const char *__name, int __keylen,
        const void *__key, void *__private_);

/*
 * Looks up instance inst.
 *
 * Returns:
 * PMDA_CACHE_ACTIVE or PMDA_CACHE_INACTIVE; PM_ERR_INST if there is none. The name belongs
 * to the cache and stays valid until the instance is culled and reclaimed.
 *
 * Pointers:
 * name and private_ are each NULL or valid for one write.
 */
PMDA_CALL extern int pmdaCacheLookup(pmInDom __indom, int __inst, char **__name, void **__private_);

/*
 * Looks up the instance name.
 *
 * Returns:
 * As pmdaCacheLookup, for the instance that has the same short name (up to the first blank),
 * whatever follows.
 *
 * Pointers:
 * name is NULL or a C string; inst and private_ are each NULL or valid for one write.
 */
PMDA_CALL extern int pmdaCacheLookupName(pmInDom __indom, const char *__name, int *__inst, void **__private_);

/*
 * Looks up the instance with a key, or with the name as its key when there is no key.
 *
 * Returns:
 * As pmdaCacheLookup.
 *
 * Pointers:
 * name is NULL or a C string; key is NULL or valid for reads of keylen bytes; oname,
 * inst and private_ are each NULL or valid for one write.
 */
PMDA_CALL extern int pmdaCacheLookupKey(pmInDom __indom, const char *__name, int __keylen, const void *__key,
        char **__oname, int *__inst, void **__private_);

/*
 * Culls the instances that were saved more than recent seconds ago and not stored since.
 *
 * Returns:
 * The number of culled instances; PM_ERR_INDOM for PM_INDOM_NULL, -ENOMEM.
 */
PMDA_CALL extern int pmdaCachePurge(pmInDom __indom, time_t __recent);

/*
 * As pmdaCachePurge. callback gets the pointer that was attached to each instance, in
 * ascending order of ids.
 *
 * Returns:
 * As pmdaCachePurge.
 *
 * Pointers:
 * callback is NULL or may be called with each pointer that was attached. It may call any
 * function of the cache.
 */
PMDA_CALL extern int pmdaCachePurgeCallback(pmInDom __indom, time_t __recent, void (*__callback)(void*));

/*
 * Sets the greatest id that the cache may hand out.
 *
 * Returns:
 * 0; PM_ERR_SIGN for a negative number, PM_ERR_TOOBIG if an instance has a greater id.
 */
PMDA_CALL extern int pmdaCacheResize(pmInDom __indom, int __maximum);

/*
 * Prints a cache, with its hash chains if do_hash is not 0; nothing if there is none.
 *
 * Pointers:
 * stream is an open stdio stream or NULL, for which nothing is printed.
 */
PMDA_CALL extern void __pmdaCacheDump(FILE *__stream, pmInDom __indom, int __do_hash);

/*
 * Prints all caches, the newest first.
 *
 * Pointers:
 * stream is an open stdio stream or NULL, for which nothing is printed.
 */
PMDA_CALL extern void __pmdaCacheDumpAll(FILE *__stream, int __do_hash);

/*
 * Does an operation on the whole cache: one of the PMDA_CACHE_* macros from LOAD on. It may
 * write to stderr and to libpcp's log.
 *
 * Returns:
 * What the operation counts or finds; -1 at the end of a walk; -EINVAL for an unknown operation,
 * PM_ERR_INDOM for PM_INDOM_NULL, -errno or PM_ERR_GENERIC when a file cannot be read or
 * written.
 */
PMDA_CALL extern int pmdaCacheOp(pmInDom __indom, int __op);

/* Operations of pmdaCacheOp */
#define PMDA_CACHE_LOAD			1
#define PMDA_CACHE_ADD			2
#define PMDA_CACHE_HIDE			3
#define PMDA_CACHE_CULL			4
#define PMDA_CACHE_EMPTY		5
#define PMDA_CACHE_SAVE			6
#define PMDA_CACHE_STRINGS		7
#define PMDA_CACHE_ACTIVE		8
#define PMDA_CACHE_INACTIVE		9
#define PMDA_CACHE_SIZE			10
#define PMDA_CACHE_SIZE_ACTIVE		11
#define PMDA_CACHE_SIZE_INACTIVE	12
#define PMDA_CACHE_REUSE		13
#define PMDA_CACHE_WALK_REWIND		14
#define PMDA_CACHE_WALK_NEXT		15
#define PMDA_CACHE_CHECK		16
#define PMDA_CACHE_REORG		17
#define PMDA_CACHE_SYNC			18
#define PMDA_CACHE_DUMP			19
#define PMDA_CACHE_DUMP_ALL		20
#define PMDA_CACHE_WRITE		21

/*
 * The client context of a request
 */

/*
 * Returns the client context of the request that is being served.
 *
 * Returns:
 * The context; -1 before the first request.
 */
PMDA_CALL extern int pmdaGetContext(void);

/* Sets what pmdaGetContext returns. */
PMDA_CALL extern void __pmdaSetContext(int __context);

/*
 * Arrays of event records, and queues of events for many clients
 */

/* Non-zero drops an event for a client: filter, data, size. */
typedef int (*pmdaEventApplyFilterCallBack)(void*, void*, size_t);

/* Frees a filter. */
typedef void (*pmdaEventReleaseFilterCallBack)(void*);

/* Makes records of an event: array, data, size, time, cookie. */
typedef int (*pmdaEventDecodeCallBack)(int, void*, size_t, struct timeval*, void*);

/*
 * Makes an event array.
 *
 * Returns:
 * Its handle, the lowest that is free.
 */
PMDA_CALL extern int pmdaEventNewArray(void);

/*
 * The same as pmdaEventNewArray: the records decide the form.
 *
 * Returns:
 * As pmdaEventNewArray.
 */
PMDA_CALL extern int pmdaEventNewHighResArray(void);

/*
 * Empties an array; its memory stays in place.
 *
 * Returns:
 * 0, or PM_ERR_NOCONTEXT.
 */
PMDA_CALL extern int pmdaEventResetArray(int __idx);

/*
 * The same as pmdaEventResetArray.
 *
 * Returns:
 * As pmdaEventResetArray.
 */
PMDA_CALL extern int pmdaEventResetHighResArray(int __idx);

/*
 * Frees an array; addresses obtained from it are invalid from then on.
 *
 * Returns:
 * 0, or PM_ERR_NOCONTEXT.
 */
PMDA_CALL extern int pmdaEventReleaseArray(int __idx);

/*
 * The same as pmdaEventReleaseArray.
 *
 * Returns:
 * As pmdaEventReleaseArray.
 */
PMDA_CALL extern int pmdaEventReleaseHighResArray(int __idx);

/*
 * Starts a record.
 *
 * Returns:
 * 0; PM_ERR_NOCONTEXT, PM_ERR_CONV when the flags claim a missed record, -EINVAL without a
 * time, PM_ERR_TOOBIG when the array is full.
 *
 * Pointers:
 * tp is NULL or points to a struct timeval.
 */
PMDA_CALL extern int pmdaEventAddRecord(int __idx, struct timeval *__tp, int __flags);

/*
 * Starts a record with a time stamp in nanoseconds.
 *
 * Returns:
 * As pmdaEventAddRecord.
 *
 * Pointers:
 * ts is NULL or points to a struct timespec.
 */
PMDA_CALL extern int pmdaEventAddHighResRecord(int __idx, struct timespec *__ts, int __flags);

/*
 * Adds a record that says that nmissed events were missed.
 *
 * Returns:
 * 0; PM_ERR_NOCONTEXT, -EINVAL without a time, PM_ERR_TOOBIG when the array is full.
 *
 * Pointers:
 * tp is NULL or points to a struct timeval.
 */
PMDA_CALL extern int pmdaEventAddMissedRecord(int __idx, struct timeval *__tp, int __nmissed);

/*
 * Adds a record that says that nmissed events were missed, with all 64 bits of its time stamp.
 *
 * Returns:
 * As pmdaEventAddMissedRecord.
 *
 * Pointers:
 * ts is NULL or points to a struct timespec.
 */
PMDA_CALL extern int pmdaEventAddHighResMissedRecord(int __idx, struct timespec *__ts, int __nmissed);

/*
 * Adds a parameter to the newest record, of either form. The value is copied.
 *
 * Returns:
 * 0; PM_ERR_NOCONTEXT, PM_ERR_TYPE for a type that no parameter has, -EINVAL without a
 * record or a value, PM_ERR_TOOBIG when a length field would overflow.
 *
 * Pointers:
 * avp is NULL or points to an atom of the type; its string is terminated, its value block as
 * long as it says.
 */
PMDA_CALL extern int pmdaEventAddParam(int __idx, pmID __pmid, int __type, pmAtomValue *__avp);

/*
 * The same as pmdaEventAddParam.
 *
 * Returns:
 * As pmdaEventAddParam.
 *
 * Pointers:
 * As pmdaEventAddParam.
 */
PMDA_CALL extern int pmdaEventAddHighResParam(int __idx, pmID __pmid, int __type, pmAtomValue *__avp);

/*
 * An older name of pmdaEventAddHighResParam.
 *
 * Returns:
 * As pmdaEventAddParam.
 *
 * Pointers:
 * As pmdaEventAddParam.
 */
PMDA_CALL extern int pmdaEventHighResAddParam(int __idx, pmID __pmid, int __type, pmAtomValue *__avp);

/*
 * Writes length and type into the header of an array, and returns its address.
 *
 * Returns:
 * The array, which the library keeps; valid until something is added or the array is released. NULL for an unknown handle.
 */
PMDA_CALL extern pmEventArray *pmdaEventGetAddr(int __idx);

/*
 * The same as pmdaEventGetAddr, of the type PM_TYPE_HIGHRES_EVENT.
 *
 * Returns:
 * As pmdaEventGetAddr.
 */
PMDA_CALL extern pmHighResEventArray *pmdaEventGetHighResAddr(int __idx);

/*
 * An older name of pmdaEventGetHighResAddr.
 *
 * Returns:
 * As pmdaEventGetAddr.
 */
PMDA_CALL extern pmHighResEventArray *pmdaEventHighResGetAddr(int __idx);

/*
 * Writes the data of an event as text into msg, which has room for msgsize bytes.
 *
 * Returns:
 * msg; NULL when msgsize is less than 4 or there is no msg.
 *
 * Pointers:
 * buffer is NULL or readable for bufsize bytes, msg is NULL or writable for msgsize bytes,
 * and the two do not overlap.
 */
PMDA_CALL extern char *__pmdaEventPrint(const char *__buffer, int __bufsize, char *__msg, int __msgsize);

/*
 * Makes a queue that keeps at most maxmemory bytes of events. The name is copied.
 *
 * Returns:
 * A handle; -EINVAL without a name or memory, -EEXIST when the name is in use.
 *
 * Pointers:
 * name is NULL or a terminated string.
 */
PMDA_CALL extern int pmdaEventNewQueue(const char *__name, size_t __maxmemory);

/*
 * Makes a queue that keeps events for nclients clients that will fetch later.
 *
 * Returns:
 * As pmdaEventNewQueue.
 *
 * Pointers:
 * As pmdaEventNewQueue.
 */
PMDA_CALL extern int pmdaEventNewActiveQueue(const char *__name, size_t __maxmemory, unsigned int __nclients);

/*
 * Lets a queue go as soon as it has no clients.
 *
 * Returns:
 * 0, or -EINVAL for a handle that is not in use.
 */
PMDA_CALL extern int pmdaEventQueueShutdown(int __handle);

/*
 * Looks a queue up by name.
 *
 * Returns:
 * Its handle, or -ESRCH.
 *
 * Pointers:
 * name is NULL or a terminated string.
 */
PMDA_CALL extern int pmdaEventQueueHandle(const char *__name);

/*
 * Appends a copy of an event to a queue. Events that are too large, or that nobody
 * listens to, are dropped; they count nevertheless.
 *
 * Returns:
 * 0; -EINVAL for a handle that is not in use, or NULL for what is to be copied; -ENOMEM.
 *
 * Pointers:
 * data is NULL or readable for bytes bytes; tv is NULL or points to a struct timeval.
 */
PMDA_CALL extern int pmdaEventQueueAppend(int __handle, void *__data, size_t __bytes, struct timeval *__tv);

/*
 * Stores the number of clients that a queue keeps events for in avp->ul.
 *
 * Returns:
 * PMDA_FETCH_STATIC, or -EINVAL.
 *
 * Pointers:
 * avp is NULL or valid for one write.
 */
PMDA_CALL extern int pmdaEventQueueClients(int __handle, pmAtomValue *__avp);

/*
 * Stores the number of events that came to a queue in avp->ul.
 *
 * Returns:
 * PMDA_FETCH_STATIC, or -EINVAL.
 *
 * Pointers:
 * avp is NULL or valid for one write.
 */
PMDA_CALL extern int pmdaEventQueueCounter(int __handle, pmAtomValue *__avp);

/*
 * Stores the number of bytes that came to a queue in avp->ull.
 *
 * Returns:
 * PMDA_FETCH_STATIC, or -EINVAL.
 *
 * Pointers:
 * avp is NULL or valid for one write.
 */
PMDA_CALL extern int pmdaEventQueueBytes(int __handle, pmAtomValue *__avp);

/*
 * Stores the number of bytes that a queue keeps in avp->ull.
 *
 * Returns:
 * PMDA_FETCH_STATIC, or -EINVAL.
 *
 * Pointers:
 * avp is NULL or valid for one write.
 */
PMDA_CALL extern int pmdaEventQueueMemory(int __handle, pmAtomValue *__avp);

/*
 * Registers a client; a known one keeps its place.
 *
 * Returns:
 * The client's slot.
 */
PMDA_CALL extern int pmdaEventNewClient(int __context);

/*
 * Ends a client: its filters are released, and queues that were shut down go with their last
 * client.
 *
 * Returns:
 * 0, for unknown clients too.
 */
PMDA_CALL extern int pmdaEventEndClient(int __context);

/*
 * Stores the number of registered clients in avp->ul.
 *
 * Returns:
 * PMDA_FETCH_STATIC, or -EINVAL for NULL.
 *
 * Pointers:
 * avp is NULL or valid for one write.
 */
PMDA_CALL extern int pmdaEventClients(pmAtomValue *__avp);

/*
 * Installs a filter for a client and a queue, and grants access; an earlier filter is released. A NULL filter clears it.
 *
 * Returns:
 * 0; -EINVAL for an unknown client or queue, or a filter without apply.
 *
 * Pointers:
 * apply and release may be called with filter until the filter is replaced, or the client or
 * queue is removed.
 */
PMDA_CALL extern int pmdaEventSetFilter(int __context, int __handle, void *__filter,
        pmdaEventApplyFilterCallBack __apply, pmdaEventReleaseFilterCallBack __release);

/*
 * Grants (non-zero) or denies a client the events of a queue; at first they are denied.
 *
 * Returns:
 * 0, or -EINVAL for an unknown client or queue.
 */
PMDA_CALL extern int pmdaEventSetAccess(int __context, int __handle, int __allow);

/*
 * Returns the events of a queue that a client has not seen. decoder is
 * called for each, and adds records to the array whose handle it gets.
 *
 * Returns:
 * PMDA_FETCH_STATIC with the array in avp->vbp, which the next call for the queue overwrites;
 * PMDA_FETCH_NOVALUES with NULL when there is nothing; the code of a decoder that failed, with
 * NULL or what the events before it gave; -EINVAL for an unknown client or queue, with avp as
 * it was.
 *
 * Pointers:
 * avp is NULL or valid for one write; decoder and filters may be called with data and stored
 * events.
 */
PMDA_CALL extern int pmdaEventQueueRecords(int __handle, pmAtomValue *__avp, int __context,
        pmdaEventDecodeCallBack __decoder, void *__data);

/*
 * What pmdaroot does for agents and pmcd
 */

/*
 * Connects to pmdaroot and waits for its introduction. path NULL means the
 * usual place.
 *
 * Returns:
 * A descriptor; -1 when nobody answers, without a log line, since agents try this at start-up; PM_ERR_GENERIC when PCP does not say where the usual place is; another negative code.
 *
 * Pointers:
 * path is NULL or a terminated string.
 */
PMDA_CALL extern int pmdaRootConnect(const char *__path);

/* Ends the conversation with pmdaroot; the descriptor stays open. */
PMDA_CALL extern void pmdaRootShutdown(int __fd);

/*
 * Asks for the host name of a container.
 *
 * Returns:
 * Its length; a NUL is added in buffer, which may be NULL if only the length is wanted.
 * -ENOTCONN without a connection, -E2BIG when the buffer is too small, what the server says,
 * -1 when sending fails.
 *
 * Pointers:
 * name is NULL or readable for namelen bytes or up to a NUL; buffer is NULL or writable for
 * buflen bytes.
 */
PMDA_CALL extern int pmdaRootContainerHostName(int __fd, const char *__name, int __namelen, char *__buffer,
        int __buflen);

/*
 * Asks for the first process of a container.
 *
 * Returns:
 * Its process id as the server sent it, or a negative code as pmdaRootContainerHostName.
 *
 * Pointers:
 * name is NULL or readable for namelen bytes or up to a NUL.
 */
PMDA_CALL extern int pmdaRootContainerProcessID(int __fd, const char *__name, int __namelen);

/*
 * Asks for the control group of a container.
 *
 * Returns:
 * As pmdaRootContainerHostName.
 *
 * Pointers:
 * As pmdaRootContainerHostName.
 */
PMDA_CALL extern int pmdaRootContainerCGroupName(int __fd, const char *__name, int __namelen, char *__buffer,
        int __buflen);

/*
 * Has an agent started. args is its command line.
 *
 * Returns:
 * 0 with process and descriptors stored, -1 for descriptors that the server did not pass on; else
 * a negative code. A descriptor that nobody wants is closed.
 *
 * Pointers:
 * name and args are each NULL or readable for their lengths or up to a NUL; the other pointers
 * are each NULL or valid for one write.
 */
PMDA_CALL extern int pmdaRootProcessStart(int __fd, int __ipctype, const char *__name, int __namelen,
        const char *__args, int __argslen, int *__pid, int *__infd, int *__outfd);

/*
 * Asks whether an agent has ended.
 *
 * Returns:
 * The process that has ended with its status as waitpid gives it in status; 0 when none has,
 * or a negative number.
 *
 * Pointers:
 * status is NULL or valid for one write.
 */
PMDA_CALL extern int pmdaRootProcessWait(int __fd, int __pid, int *__status);

/*
 * Has an agent terminated.
 *
 * Returns:
 * 0, or a negative code.
 */
PMDA_CALL extern int pmdaRootProcessTerminate(int __fd, int __pid);

#ifdef __cplusplus
}
#endif

#endif /* PM_VERSION */
#endif /* PCP_PMDA_H */
