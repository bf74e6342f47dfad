/*
 * The journal of `cut.c`, the functions of libc that it stands before, and which files it watches.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The kinds of records; journal.rs has the same numbers. */
enum kind { CREATE = 1, WRITE, WRITTEN, TRUNCATE, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, LINK, FOLDER, NAMED };

/* The head of a record, in the byte order of the machine. */
struct head {
	uint32_t length; /* of the whole record */
	uint32_t kind;
	uint64_t file;   /* the file's inode */
	uint64_t first;
	uint64_t second;
};

enum { MAX_PARTS = 1024, PAUSE_NS = 100 * 1000 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_length;
static int journal = -1;
static uint64_t last_id;

static int (*real_openat)(int, const char *, int, ...);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off64_t);
static int (*real_ftruncate)(int, off64_t);
static int (*real_fallocate)(int, int, off64_t, off64_t);
static int (*real_fsync)(int);
static int (*real_renameat2)(int, const char *, int, const char *, unsigned);
static int (*real_unlinkat)(int, const char *, int);
static int (*real_mkdirat)(int, const char *, mode_t);
static int (*real_linkat)(int, const char *, int, const char *, int);
static ssize_t (*real_sendfile)(int, int, off64_t *, size_t);
static ssize_t (*real_copy)(int, off64_t *, int, off64_t *, size_t, unsigned);

/* Ends the program: a journal with a gap would be worth nothing. */
static void fail(const char *what)
{
	perror(what);
	abort();
}

static void *function(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	if (found == NULL)
		fail(name);
	return found;
}

static void begin_once(void)
{
	const char *path = getenv("LARDER_POWER_JOURNAL");
	real_openat = function("openat64");
	real_writev = function("writev");
	real_pwritev = function("pwritev64");
	real_ftruncate = function("ftruncate64");
	real_fallocate = function("fallocate64");
	real_fsync = function("fsync");
	real_renameat2 = function("renameat2");
	real_unlinkat = function("unlinkat");
	real_mkdirat = function("mkdirat");
	real_linkat = function("linkat");
	real_sendfile = function("sendfile64");
	real_copy = function("copy_file_range");
	folder = getenv("LARDER_POWER_FOLDER");
	if (folder == NULL || path == NULL)
		return;
	folder_length = strlen(folder);
	journal = real_openat(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (journal < 0)
		fail(path);
}

static void begin(void)
{
	pthread_once(&once, begin_once);
}

/* Appends a record with the first bytes of some parts. */
static void note(enum kind kind, uint64_t file, uint64_t first, uint64_t second, const struct iovec *parts, int n_parts,
                 size_t length)
{
	struct head head = {(uint32_t)(sizeof head + length), kind, file, first, second};
	struct iovec all[MAX_PARTS] = {{&head, sizeof head}};
	int n = 1;
	size_t left = length;
	for (int i = 0; i < n_parts && left > 0; i++) {
		size_t taken = parts[i].iov_len < left ? parts[i].iov_len : left;
		if (n == MAX_PARTS || sizeof head + length > UINT32_MAX)
			fail("a write that is too large for a record");
		all[n++] = (struct iovec){parts[i].iov_base, taken};
		left -= taken;
	}
	if (real_writev(journal, all, n) != (ssize_t)head.length)
		fail("the journal");
}

static void note_text(enum kind kind, uint64_t file, uint64_t first, const char *text, size_t length)
{
	struct iovec part = {(void *)text, length};
	note(kind, file, first, 0, &part, 1, length);
}

/* A number that no other process gives. */
static uint64_t new_id(void)
{
	return (uint64_t)getpid() << 32 | __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

static void pause_for_disk(void)
{
	struct timespec time = {0, PAUSE_NS};
	nanosleep(&time, NULL);
}

/* Whether a path is the folder or lies in it. */
static int is_inside(const char *path)
{
	return strncmp(path, folder, folder_length) == 0 && (path[folder_length] == '/' || path[folder_length] == 0);
}

/* The path of an open file; 0 where it has none. */
static int path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, PATH_MAX - 1);
	path[length < 0 ? 0 : length] = 0;
	return length > 0;
}

/* Whether an open file lies in the folder; `found` is its state, and `path` its path. */
static int is_watched(int fd, struct stat *found, char path[PATH_MAX])
{
	int before = errno;
	begin();
	int is = journal >= 0 && path_of(fd, path) && is_inside(path) && fstat(fd, found) == 0;
	errno = before;
	return is;
}

/* Whether a path that need not exist lies in the folder; `name` is then its path from the folder on. */
static int is_name(int at, const char *path, char name[PATH_MAX])
{
	char whole[PATH_MAX], parent[PATH_MAX] = ".", real[PATH_MAX];
	int before = errno;
	begin();
	int n = -1;
	if (path[0] == '/' || at == AT_FDCWD)
		n = snprintf(whole, sizeof whole, "%s", path);
	else if (path_of(at, parent))
		n = snprintf(whole, sizeof whole, "%s/%s", parent, path);
	int is = 0;
	if (journal >= 0 && n > 0 && n < PATH_MAX) {
		char *slash = strrchr(whole, '/');
		const char *base = slash == NULL ? whole : slash + 1;
		snprintf(parent, sizeof parent, "%.*s", slash == NULL ? 1 : (int)(slash - whole + 1),
		         slash == NULL ? "." : whole);
		if (realpath(parent, real) != NULL && is_inside(real)) {
			const char *below = real[folder_length] == '/' ? real + folder_length + 1 : "";
			n = snprintf(name, PATH_MAX, "%s%s%s", below, *below == 0 ? "" : "/", base);
			is = n < PATH_MAX;
		}
	}
	errno = before;
	return is;
}
