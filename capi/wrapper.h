/*
 * The input of bindgen: the public interface of libpcp, and the few private functions that are needed, each with its reason.
 * Most of them change state that is inside of libpcp and visible to other code in the process.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/time.h>
#include <pcp/pmapi.h>

/* pmdaDaemon: changes how libpcp prints values and logs time-outs. */
extern void __pmSetInternalState(int);
/* pmdaConnect: agents call libpcp's PDU functions on the same descriptors. */
extern int __pmSetVersionIPC(int, int);
extern int __pmSetSocketIPC(int);
extern int __pmSocketIPC(int);
extern void __pmResetIPC(int);
/* The once-only memory of "SIGPIPE is ignored" is libpcp's. */
extern int __pmIgnoreSignalPIPE(void);
/* pmdaLabel: the default labels of a context and a domain. */
extern int __pmGetContextLabels(pmLabelSet **);
extern int __pmGetDomainLabels(int, const char *, pmLabelSet **);
/* pmdaAddLabels: texts that are not plain (nested objects, illegal names, wrong or unfinished JSON) are judged by libpcp's own
 * parser, so that its rules hold in each generation, and the opaque hash of dotted names is built by libpcp, which frees it. */
extern int __pmAddLabels(pmLabelSet **, const char *, int);
/* pmdaAddLabels: reads the full names out of that hash; libpcp has no public way to it. The data of a node is the name. */
typedef struct __pmHashNode {
    struct __pmHashNode	*next;
    unsigned int	key;
    void		*data;
} __pmHashNode;
extern __pmHashNode *__pmHashSearch(unsigned int, void *);
/* pmdaAttribute: the names of attributes, under -Dattr only. */
extern char *__pmAttrStr_r(int, const char *, char *, size_t);

/*
 * The default result callback: agents may return value sets that libpcp has decoded, inside of its own PDU
 * buffers, and only libpcp can tell those.
 */
#if PM_VERSION_CURRENT < PM_VERSION(7,0,0)
extern void __pmFreeResultValues(pmResult *);
#else
extern void __pmFreeResultValues_v2(pmResult_v2 *);
#endif

/* Name-space trees are libpcp's: language bindings build and free them with libpcp's own functions. */
typedef struct __pmnsNode {
    struct __pmnsNode	*parent;
    struct __pmnsNode	*next;
    struct __pmnsNode	*first;
    struct __pmnsNode	*hash;
    char		*name;
    pmID		pmid;
} __pmnsNode;
typedef struct __pmnsTree {
    __pmnsNode		*root;
    __pmnsNode		**htab;
    int			htabsize;
    int			mark_state;
} __pmnsTree;
extern int __pmNewPMNS(__pmnsTree **);
extern int __pmAddPMNSNode(__pmnsTree *, int, const char *);
extern void __pmFreePMNS(__pmnsTree *);
