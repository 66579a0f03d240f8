/*
 * A file that cannot be replaced is saved in place, with all that it has: CACHE-75, DEF-1. Attributes and access control lists, several
 * names, links, a mount in its place (renameat says EBUSY), modes and owners that may not be given (the program's own chmod and chown
 * refuse it), a directory that cannot be written to.
 * cc: -rdynamic
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static int refused;
static pmInDom indom;
static char path[4096], other[4096 + 8];

/* In place of the C library's: what a file system may say. */
int
fchmod(int fd, mode_t mode)
{
    (void)fd;
    (void)mode;
    errno = EPERM;
    return refused == 1 ? -1 : 0;
}

int
fchown(int fd, uid_t uid, gid_t gid)
{
    (void)fd;
    (void)uid;
    (void)gid;
    errno = EPERM;
    return refused == 2 ? -1 : 0;
}

int
renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    static const int errors[] = { 0, 0, 0, EBUSY, EXDEV, EPERM, EROFS };

    (void)from_directory;
    (void)from;
    (void)to_directory;
    (void)to;
    errno = errors[refused];
    return -1;
}

static void
show(const char *what, ino_t before, int sts)
{
    char command[8192], value[16] = "";
    struct stat st;

    stat(path, &st);
    printf("%s: save %d, %s, mode %o, owner %d.%d, links %d", what, sts, st.st_ino == before ? "in place" : "replaced", st.st_mode & 07777,
	(int)st.st_uid, (int)st.st_gid, (int)st.st_nlink);
    if (getxattr(path, "user.pcp", value, sizeof(value) - 1) > 0)
	printf(", attribute %s", value);
    printf(", acl %d\n", (int)getxattr(path, "system.posix_acl_access", NULL, 0));
    fflush(stdout);
    snprintf(command, sizeof(command), "sed 's/^\\([0-9]*\\) [0-9]* n/\\1 n/' '%s'; ls -A \"$PCP_VAR_DIR/config/pmda\"", path);
    if (system(command) != 0)
	printf("cannot show\n");
}

static ino_t
begin(int serial)
{
    static int number;
    char name[16];
    struct stat st;
    FILE *f;

    indom = pmInDom_build(251, serial);
    snprintf(path, sizeof(path), "%s/config/pmda/251.%d", getenv("PCP_VAR_DIR"), serial);
    snprintf(other, sizeof(other), "%s.other", path);
    f = fopen(path, "w");
    fprintf(f, "2 0 100\n");
    fclose(f);
    chmod(path, 0640);
    snprintf(name, sizeof(name), "n%d", number++);
    pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL);
    stat(path, &st);
    return st.st_ino;
}

int
main(void)
{
    /* user::rw-, user:1:r--, group::r--, mask::r--, other::--- */
    unsigned char acl[] = {
	2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 4, 0, 255, 255, 255, 255,
	32, 0, 0, 0, 255, 255, 255, 255
    };
    ino_t ino;

    pmSetProgname("attributes");
    setvbuf(stdout, NULL, _IONBF, 0);
    umask(022);
    pmdaCacheOp(pmInDom_build(251, 1), PMDA_CACHE_LOAD);

    ino = begin(1);
    if (setxattr(path, "user.pcp", "kept", 4, 0) < 0)
	printf("no attributes here\n");
    show("attribute", ino, pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    ino = begin(2);
    if (setxattr(path, "system.posix_acl_access", acl, sizeof(acl), 0) < 0)
	printf("no lists here\n");
    show("list", ino, pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    ino = begin(3);
    if (link(path, other) < 0)
	printf("no second name\n");
    show("names", ino, pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    ino = begin(4);
    if (link(path, other) < 0 || unlink(path) < 0 || symlink(other, path) < 0)
	printf("no link\n");
    setxattr(path, "user.pcp", "linked", 6, 0);
    show("link", ino, pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    for (refused = 1; refused < 7; refused++) {
	ino = begin(4 + refused);
	if (refused == 2 && chown(path, 1, 1) < 0) {
	    /* Only root can give a file away. */
	    printf("no other owner\n");
	    continue;
	}
	show("refused", ino, pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    }
    /* The directory gives new files a list; the file has another one of the same length. */
    refused = 0;
    snprintf(other, sizeof(other), "%s/config/pmda", getenv("PCP_VAR_DIR"));
    if (setxattr(other, "system.posix_acl_default", acl, sizeof(acl), 0) < 0)
	printf("no lists for new files here\n");
    ino = begin(11);
    acl[16] = 2;
    if (setxattr(path, "system.posix_acl_access", acl, sizeof(acl), 0) < 0)
	printf("no lists here\n");
    show("another list", ino, pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    return 0;
}
