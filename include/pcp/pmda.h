/*
 * Part of pcp_pmda.  Generated from src/ffi and capi/pmda.h.in: change those, and run "make headers".
 *
 * The interface of libpcp_pmda.so.3, for agents of Performance Co-Pilot.  Include <pcp/pmapi.h> first.  It serves
 * both generations of PCP: what differs between them is decided by the pmapi.h that it is used with.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef PCP_PMDA_H
#define PCP_PMDA_H

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

/* The result of a fetch, with a struct timeval */
#if PM_VERSION_CURRENT < PM_VERSION(7,0,0)
typedef pmResult pmdaResult;
#else
typedef pmResult_v2 pmdaResult;
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
 * What belongs to an agent beside its dispatch table (INIT-2). Its fields are the live state: agents read and
 * write them directly.
 */
typedef struct pmdaExt {
    /* PMDA_EXT_* bits. */
    unsigned int e_flags;
    /* Private to this library. */
    void *e_ext;
    /* Socket or service name. */
    char *e_sockname;
    /* Name of the agent; the caller's pointer, not a copy. */
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
    /* 0 while a singular value is due, else -1 (INST-4). */
    int e_singular;
    /* Position in an instance domain, -1 at its end (INST-4). */
    int e_ordinal;
    /* 1 when the item field of a metric is its index in the table. */
    int e_direct;
    /* The agent's domain. */
    int e_domain;
    /* Number of metrics. */
    int e_nmetrics;
    /* Number of classic instance domains. */
    int e_nindoms;
    /* Handle of the help database, negative when there is none. */
    int e_help;
    /* The profile received last. */
    pmProfile *e_prof;
    /* How the agent talks to pmcd. */
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
 * and its scale as well, where pmUnits has them.
 */
#if PM_VERSION_CURRENT < PM_VERSION(7,2,0)
# ifdef HAVE_BITFIELDS_LTOR
#  define PMDA_PMUNITS(a,b,c,d,e,f) {a,b,c,d,e,f,0}
# else
#  define PMDA_PMUNITS(a,b,c,d,e,f) {0,f,e,d,c,b,a}
# endif
#else
# ifdef HAVE_BITFIELDS_LTOR
#  define PMDA_PMUNITS(a,b,c,d,e,f) {a,b,c,d,e,f,0,0}
#  define PMDA_EXTRAUNITS(a,b,c,d,e,f,g,h) {a,b,c,d,e,f,g,h}
# else
#  define PMDA_PMUNITS(a,b,c,d,e,f) {0,0,f,e,d,c,b,a}
#  define PMDA_EXTRAUNITS(a,b,c,d,e,f,g,h) {h,g,f,e,d,c,b,a}
# endif
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

/* Sees each option before the library does; a result other than 0 means that the agent has handled it. */
typedef int (*pmdaOptionOverride)(int, struct pmdaOptions*);

/* Options of an agent's command line (INIT-3). The fields up to opt_last_nonopt are libpcp's pmOptions. */
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
    /* Which long option was found. */
    int index;
    /* Index of the next argument. */
    int optind;
    /* Whether errors are printed. */
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
 * The methods that serve for most agents
 */

/*
 * Lists all instances of a domain, or gives the name of an instance, or the instance of a name (INST-60).
 *
 * Returns:
 * 0 with *result set to a structure that the caller frees (each name, both lists, and the structure are blocks of
 * their own, INST-5); PM_ERR_INDOM for an unknown domain, PM_ERR_INST for an unknown instance, -ENOMEM. On failure
 * *result is untouched.
 *
 * Pointers:
 * name is NULL or a C string. result is NULL or valid for one write. pmda is NULL or valid, with its instance
 * domains; a cached domain does not need it (INST-12).
 */
PMDA_CALL extern int pmdaInstance(pmInDom indom, int inst, char *name, pmInResult **result,
        struct pmdaExt *pmda);

/*
 * Instances of a domain, as the last profile selects them
 */

/*
 * Number of instances of a domain; the profile is not looked at.
 *
 * Returns:
 * 1 for PM_INDOM_NULL; the number of active instances of a cached domain; it_numinst of a classic one; 0 for an
 * unknown one, which is reported.
 *
 * Pointers:
 * pmda is NULL or valid, with its instance domains.
 */
PMDA_CALL extern int __pmdaCntInst(pmInDom indom, struct pmdaExt *pmda);

/*
 * Starts to go over the instances of a domain.
 *
 * Pointers:
 * pmda is NULL or valid, with its instance domains and profile.
 */
PMDA_CALL extern void __pmdaStartInst(pmInDom indom, struct pmdaExt *pmda);

/*
 * Gives the next instance that the profile selects.
 *
 * Returns:
 * 1 with inst set, or 0 with inst untouched at the end.
 *
 * Pointers:
 * inst is NULL or valid for one write. pmda is NULL or valid, with its profile and the domain that e_idp points
 * to.
 */
PMDA_CALL extern int __pmdaNextInst(int *inst, struct pmdaExt *pmda);

/*
 * Help text
 */

/*
 * Opens the help database that consists of the files fname.dir and fname.pag.
 *
 * Returns:
 * A handle, 0 or more; -errno when a file cannot be read, -EINVAL when it is no help database of version 2, is
 * damaged, or fname is NULL (HELP-10, HELP-20, HELP-30).
 *
 * Pointers:
 * fname is NULL or a C string.
 */
PMDA_CALL extern int pmdaOpenHelp(const char *fname);

/* Closes a help database and releases its texts; other handles do nothing (HELP-12). */
PMDA_CALL extern void pmdaCloseHelp(int handle);

/*
 * Looks up a text of a metric: the one-line text when bit PM_TEXT_ONELINE is set in kind, else the long one.
 *
 * Returns:
 * A text that stays until the handle is closed and must not be changed or freed, or NULL (HELP-25, HELP-28, HELP-29).
 */
PMDA_CALL extern char *pmdaGetHelp(int handle, uint32_t pmid, int kind);

/*
 * Looks up a text of an instance domain: the one-line text when bit PM_TEXT_ONELINE is set in kind, else the long one.
 *
 * Returns:
 * A text that stays until the handle is closed and must not be changed or freed, or NULL (HELP-26, HELP-28, HELP-29).
 */
PMDA_CALL extern char *pmdaGetInDomHelp(int handle, uint32_t indom, int kind);

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
 * 1, or 0 when set is NULL (LABEL-45).
 *
 * Pointers:
 * set is NULL or a valid label set.
 */
PMDA_CALL extern int pmdaAddLabelFlags(pmLabelSet *set, int flags);

/*
 * Metrics that come and go
 */

/* Brings a tree of dynamic names up to date; a result other than 0 means that metrics have changed (DYN-5). */
typedef int (*pmdaUpdatePMNS)(struct pmdaExt*, pmdaNameSpace**);

/* Gives the help text of a dynamic metric. */
typedef int (*pmdaUpdateText)(struct pmdaExt*, pmID, int, char**);

/* Fills in the second metric, a copy of the first one with the given number (DYN-21). */
typedef void (*pmdaUpdateMetric)(struct pmdaMetric*, struct pmdaMetric*, int);

/* Tells how many metrics there are to copy, and how many copies of each (DYN-20). */
typedef void (*pmdaCountMetrics)(int*, int*);
/*
 * Takes a metric table into use, and builds the hash over it (INIT-46).
 *
 * Pointers:
 * pmda is NULL or valid; metrics is NULL or valid with nmetrics entries, for as long as it is in use.
 */
PMDA_CALL extern void pmdaRehash(struct pmdaExt *pmda, struct pmdaMetric *metrics, int nmetrics);

/*
 * Trees of names
 */

/*
 * Makes an empty tree of names and stores it at tree.
 *
 * Returns:
 * 0; a negative error code when there is no memory or tree is NULL. pmdaTreeRelease frees the tree.
 *
 * Pointers:
 * tree is NULL or valid for one write.
 */
PMDA_CALL extern int pmdaTreeCreate(pmdaNameSpace **tree);

/*
 * Adds the dotted name name with the identifier pmid to a tree, and the nodes above it as needed.
 *
 * Lookups by name see it at once, lookups by identifier after the next pmdaTreeRebuildHash.
 *
 * Returns:
 * 0 (PCP 7: 1 when the name is there already, with the same identifier); PM_ERR_PMID when the name has another
 * identifier; -EINVAL for NULL arguments; another negative code when there is no memory.
 *
 * Pointers:
 * tree is NULL or a tree, name NULL or a C string.
 */
PMDA_CALL extern int pmdaTreeInsert(pmdaNameSpace *tree, pmID pmid, const char *name);

/*
 * Frees a tree with all its nodes, names and its table. NULL is allowed.
 *
 * Pointers:
 * tree is NULL or a tree that nobody uses any more.
 */
PMDA_CALL extern void pmdaTreeRelease(pmdaNameSpace *tree);

/*
 * Builds the table from identifiers to names, for about numpmid names; the number need not be exact. Sets the
 * links from the nodes to their parents as well.
 *
 * Pointers:
 * tree is NULL or a tree.
 */
PMDA_CALL extern void pmdaTreeRebuildHash(pmdaNameSpace *tree, int numpmid);

/*
 * Counts the names of a tree.
 *
 * Returns:
 * The number; 0 for NULL. A node with an identifier counts once and hides what is below it.
 *
 * Pointers:
 * tree is NULL or a tree.
 */
PMDA_CALL extern int pmdaTreeSize(pmdaNameSpace *tree);

/*
 * Gives the identifier of a name: a pmid method for agents that keep their names in a tree.
 *
 * Returns:
 * 0; PM_ERR_NAME when there is no tree, no such name, or it is not a leaf, and pmid is left alone.
 *
 * Pointers:
 * tree is NULL or a tree, name NULL or a C string, pmid NULL or valid for one write.
 */
PMDA_CALL extern int pmdaTreePMID(pmdaNameSpace *tree, const char *name, pmID *pmid);

/*
 * Gives all names of an identifier: a name method for agents that keep their names in a tree.
 *
 * Returns:
 * The number of names, stored at nameset as one block that the caller frees; PM_ERR_PMID when there is no tree,
 * no table (pmdaTreeRebuildHash) or no such identifier; -EINVAL when nameset is NULL; another negative code when
 * there is no memory.
 *
 * Pointers:
 * tree is NULL or a tree, nameset NULL or valid for one write.
 */
PMDA_CALL extern int pmdaTreeName(pmdaNameSpace *tree, pmID pmid, char ***nameset);

/*
 * Gives the names below a name: a children method for agents that keep their names in a tree.
 *
 * With traverse 0 these are single components, and status tells leaves (0) from branches (1); else the full names
 * of all leaves below.
 *
 * Returns:
 * The number of names, stored at offspring and status as two blocks that the caller frees. With 0 and traverse
 * 0 nothing is stored; with 0 and any other traverse, two empty blocks. PM_ERR_NAME when there is no tree or no
 * such name; -EINVAL when offspring or status is NULL; another negative code when there is no memory.
 *
 * Pointers:
 * tree is NULL or a tree, name NULL or a C string, offspring and status are NULL or valid for one write.
 */
PMDA_CALL extern int pmdaTreeChildren(pmdaNameSpace *tree, const char *name, int traverse, char ***offspring,
        int **status);

/*
 * Caches of instances
 */


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

/* Returns the client context that the current request belongs to, -1 before the first one (MAIN-25). */
PMDA_CALL extern int pmdaGetContext(void);

/* Sets what pmdaGetContext returns. */
PMDA_CALL extern void __pmdaSetContext(int context);

/*
 * Arrays of event records, and queues of events for many clients
 */

/* Takes one event from a queue: array handle, event, its size, its time, the agent's own. */
typedef int (*pmdaEventDecodeCallBack)(int, void*, size_t, struct timeval*, void*);

/* Decides whether a client sees an event: the filter, the event, its size. */
typedef int (*pmdaEventApplyFilterCallBack)(void*, void*, size_t);

/* Releases a filter. */
typedef void (*pmdaEventReleaseFilterCallBack)(void*);
/*
 * Makes an event array.
 *
 * Returns:
 * Its handle, the lowest that is free (EVENT-10).
 */
PMDA_CALL extern int pmdaEventNewArray(void);

/* The same as pmdaEventNewArray: the records decide the form (EVENT-11). */
PMDA_CALL extern int pmdaEventNewHighResArray(void);

/*
 * Empties an array; its memory stays in place (EVENT-14).
 *
 * Returns:
 * 0, or PM_ERR_NOCONTEXT.
 */
PMDA_CALL extern int pmdaEventResetArray(int idx);

/* The same as pmdaEventResetArray. */
PMDA_CALL extern int pmdaEventResetHighResArray(int idx);

/*
 * Frees an array; addresses obtained from it are invalid from then on (EVENT-15).
 *
 * Returns:
 * 0, or PM_ERR_NOCONTEXT.
 */
PMDA_CALL extern int pmdaEventReleaseArray(int idx);

/* The same as pmdaEventReleaseArray. */
PMDA_CALL extern int pmdaEventReleaseHighResArray(int idx);

/*
 * Starts a record (EVENT-20).
 *
 * Returns:
 * 0; PM_ERR_NOCONTEXT, PM_ERR_CONV when the flags claim a missed record, -EINVAL without a time,
 * PM_ERR_TOOBIG when the array is full.
 *
 * Pointers:
 * tp is NULL or points to a struct timeval.
 */
PMDA_CALL extern int pmdaEventAddRecord(int idx, struct timeval *tp, int flags);

/*
 * Starts a record with a time stamp in nanoseconds (EVENT-20).
 *
 * Returns:
 * As pmdaEventAddRecord.
 *
 * Pointers:
 * ts is NULL or points to a struct timespec.
 */
PMDA_CALL extern int pmdaEventAddHighResRecord(int idx, struct timespec *ts, int flags);

/*
 * Adds a record that says that nmissed events were missed (EVENT-21).
 *
 * Returns:
 * 0; PM_ERR_NOCONTEXT, -EINVAL without a time, PM_ERR_TOOBIG when the array is full.
 *
 * Pointers:
 * tp is NULL or points to a struct timeval.
 */
PMDA_CALL extern int pmdaEventAddMissedRecord(int idx, struct timeval *tp, int nmissed);

/*
 * Adds a record that says that nmissed events were missed, with all 64 bits of its time stamp (EVENT-21, E-6).
 *
 * Returns:
 * As pmdaEventAddMissedRecord.
 *
 * Pointers:
 * ts is NULL or points to a struct timespec.
 */
PMDA_CALL extern int pmdaEventAddHighResMissedRecord(int idx, struct timespec *ts, int nmissed);

/*
 * Adds a parameter to the newest record, of either form (EVENT-22, E-3). The value is copied.
 *
 * Returns:
 * 0; PM_ERR_NOCONTEXT, PM_ERR_TYPE for a type that no parameter has, -EINVAL without a record or a value,
 * PM_ERR_TOOBIG when a length field would overflow.
 *
 * Pointers:
 * avp is NULL or points to an atom of the type; its string is terminated, its value block as long as it says.
 */
PMDA_CALL extern int pmdaEventAddParam(int idx, pmID pmid, int type, pmAtomValue *avp);

/*
 * The same as pmdaEventAddParam.
 *
 * Pointers:
 * As pmdaEventAddParam.
 */
PMDA_CALL extern int pmdaEventAddHighResParam(int idx, pmID pmid, int type, pmAtomValue *avp);

/*
 * An older name of pmdaEventAddHighResParam (EVENT-23).
 *
 * Pointers:
 * As pmdaEventAddParam.
 */
PMDA_CALL extern int pmdaEventHighResAddParam(int idx, pmID pmid, int type, pmAtomValue *avp);

/*
 * Writes length and type into the array's header and gives its address.
 *
 * Returns:
 * The array, which the library keeps; valid until something is added or the array is released (EVENT-25). NULL
 * for an unknown handle.
 */
PMDA_CALL extern pmEventArray *pmdaEventGetAddr(int idx);

/* The same as pmdaEventGetAddr, of the type PM_TYPE_HIGHRES_EVENT. */
PMDA_CALL extern pmHighResEventArray *pmdaEventGetHighResAddr(int idx);

/* An older name of pmdaEventGetHighResAddr (EVENT-23). */
PMDA_CALL extern pmHighResEventArray *pmdaEventHighResGetAddr(int idx);

/*
 * Writes the data of an event as text into msg, which has room for msgsize bytes (QUEUE-50).
 *
 * Returns:
 * msg; NULL when msgsize is less than 4 or there is no msg.
 *
 * Pointers:
 * buffer is NULL or readable for bufsize bytes, msg is NULL or writable for msgsize bytes, and the two do
 * not overlap.
 */
PMDA_CALL extern char *__pmdaEventPrint(const char *buffer, int bufsize, char *msg, int msgsize);

/*
 * What pmdaroot does for agents and pmcd
 */


#ifdef __cplusplus
}
#endif

#endif /* PCP_PMDA_H */
