/*
 * A layer over libc that writes down what a program does to the files of one folder, and which of that it has synced.
 *
 * The dynamic linker puts these functions before libc's own (LD_PRELOAD). Each function does what libc's does, and adds
 * a record to a journal outside of the folder. From the journal the test makes the states in which a loss of power could
 * have left the folder.
 *
 * A record stands in the journal before the call returns, and one write appends it. So the journal is whole at any
 * moment, also with several processes. A change and its record are one step under a lock, because two changes of one
 * place must have the order of their records.
 *
 * A sync has two records: a change counts as synced where its record stands before the first, once the second is there.
 * The real sync is left out, because the test does not need it and a slow disk would. A short pause takes its place, so
 * that other threads come in between as they do on a disk.
 *
 * A write through a descriptor with O_DSYNC has a second record of its own. sync_file_range, sync and syncfs are not
 * here: they count for nothing. The test compares the journal with the files that are really there, and so finds a change
 * by a call that is missing here.
 *
 * Writes through a memory map have no call. Before each record of another change, and before a sync, the map is compared
 * with a copy, and the pages that differ are noted. So the journal has some of the states that a page was in, the last one
 * before each sync among them. Only LMDB's data are looked at: what the other mapped files hold is made anew by a start.
 *
 * Descriptors are asked for their file at each call. So this layer needs no table of them, which dup, fork and close
 * would change.
 */
#define _GNU_SOURCE
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
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The kinds of records; journal.rs has the same numbers. */
enum kind { CREATE = 1, WRITE, WRITTEN, TRUNCATE, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, LINK, FOLDER };

/* The head of a record, in the byte order of the machine. */
struct head {
	uint32_t length; /* of the whole record */
	uint32_t kind;
	uint64_t file;   /* the file's inode */
	uint64_t first;
	uint64_t second;
};

enum { MAX_PARTS = 1024, PAUSE_NS = 100 * 1000, MAX_MAPS = 8, PAGE = 4096 };

/* A file that the program may change through memory. */
struct map {
	char *at; /* NULL where the place is free */
	size_t length;
	uint64_t file;
	int fd;
	char *noted; /* the contents as the journal has them, as far as the file goes */
	size_t n_noted;
};

/* The end of the names of files whose maps are looked at. */
static const char mapped[] = "/data.mdb";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_length;
static int journal = -1;
static uint64_t last_id;
static struct map maps[MAX_MAPS];

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

/* Follows the length of a map's file. What is new in it are zeros. */
static void follow_length(struct map *map)
{
	struct stat found;
	if (fstat(map->fd, &found) != 0)
		fail("the length of a map's file");
	/* A file that ends within a page can be read to the end of the page. */
	size_t length = ((size_t)found.st_size + PAGE - 1) / PAGE * PAGE;
	length = length < map->length ? length : map->length;
	if (length > map->n_noted) {
		map->noted = realloc(map->noted, length);
		if (map->noted == NULL)
			fail("the copy of a map");
		memset(map->noted + map->n_noted, 0, length - map->n_noted);
	}
	map->n_noted = length;
}

/* Notes what has changed in a map, page by page. */
static void note_map(struct map *map)
{
	follow_length(map);
	for (size_t at = 0; at < map->n_noted; at += PAGE) {
		char *noted = map->noted + at;
		if (memcmp(noted, map->at + at, PAGE) == 0)
			continue;
		/* The program may be changing it. */
		memcpy(noted, map->at + at, PAGE);
		struct iovec part = {noted, PAGE};
		note(WRITE, map->file, at, new_id(), &part, 1, PAGE);
	}
}

/* Does so for all maps. Its caller has the lock. */
static void note_maps(void)
{
	for (struct map *map = maps; map < maps + MAX_MAPS; map++) {
		if (map->at != NULL)
			note_map(map);
	}
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

/* Opens a file, and notes that it is new or was emptied. */
static int open_at(int at, const char *path, int flags, mode_t mode)
{
	begin();
	if (journal < 0 || (flags & (O_CREAT | O_TRUNC)) == 0)
		return real_openat(at, path, flags, mode);
	char found_path[PATH_MAX];
	struct stat found;
	pthread_mutex_lock(&order);
	int was_there = fstatat(at, path, &found, 0) == 0;
	int fd = real_openat(at, path, flags, mode);
	if (fd >= 0 && is_watched(fd, &found, found_path)) {
		const char *name = found_path + folder_length + 1;
		if (!was_there)
			note_text(CREATE, found.st_ino, 0, name, strlen(name));
		else if ((flags & O_TRUNC) != 0)
			note(TRUNCATE, found.st_ino, 0, 0, NULL, 0, 0);
	}
	pthread_mutex_unlock(&order);
	return fd;
}

/* Writes to a place of a file; a negative place is the present one. */
static ssize_t put(int fd, const struct iovec *parts, int n_parts, off64_t offset)
{
	char path[PATH_MAX];
	struct stat found;
	if (!is_watched(fd, &found, path))
		return offset < 0 ? real_writev(fd, parts, n_parts) : real_pwritev(fd, parts, n_parts, offset);
	uint64_t id = new_id();
	pthread_mutex_lock(&order);
	note_maps();
	ssize_t done = offset < 0 ? real_writev(fd, parts, n_parts) : real_pwritev(fd, parts, n_parts, offset);
	if (done > 0) {
		off64_t at = offset < 0 ? lseek64(fd, 0, SEEK_CUR) - done : offset;
		note(WRITE, found.st_ino, (uint64_t)at, id, parts, n_parts, (size_t)done);
	}
	pthread_mutex_unlock(&order);
	if (done > 0 && (fcntl(fd, F_GETFL) & O_DSYNC) != 0) {
		pause_for_disk();
		note(WRITTEN, found.st_ino, id, 0, NULL, 0, 0);
	}
	return done;
}

/* Notes bytes that the kernel has copied into a file, as the file has them now. */
static void note_copied(int fd, uint64_t file, off64_t offset, size_t length)
{
	char bytes[1 << 16];
	char path[PATH_MAX];
	/* The descriptor may be for writing only. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int from = real_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	while (length > 0) {
		ssize_t n = pread64(from, bytes, length < sizeof bytes ? length : sizeof bytes, offset);
		if (n <= 0)
			fail("reading a copy");
		struct iovec part = {bytes, (size_t)n};
		note(WRITE, file, (uint64_t)offset, new_id(), &part, 1, (size_t)n);
		offset += n;
		length -= (size_t)n;
	}
	close(from);
}

/* Notes the length of a file that was cut or made longer. */
static void note_length(int fd)
{
	char path[PATH_MAX];
	struct stat found;
	if (is_watched(fd, &found, path))
		note(TRUNCATE, found.st_ino, (uint64_t)found.st_size, 0, NULL, 0, 0);
}

static int sync_file(int fd)
{
	char path[PATH_MAX];
	struct stat found;
	if (!is_watched(fd, &found, path))
		return real_fsync(fd);
	uint64_t id = new_id();
	pthread_mutex_lock(&order);
	note_maps();
	pthread_mutex_unlock(&order);
	note(SYNC_BEGIN, found.st_ino, id, S_ISDIR(found.st_mode), NULL, 0, 0);
	pause_for_disk();
	note(SYNC_END, found.st_ino, id, S_ISDIR(found.st_mode), NULL, 0, 0);
	return 0;
}

static int take_mode(int flags, va_list *rest)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(*rest, int) : 0;
}

#define OPEN(name)                                                                                                     \
	int name(const char *path, int flags, ...)                                                                         \
	{                                                                                                                  \
		va_list rest;                                                                                                  \
		va_start(rest, flags);                                                                                         \
		int mode = take_mode(flags, &rest);                                                                            \
		va_end(rest);                                                                                                  \
		return open_at(AT_FDCWD, path, flags, (mode_t)mode);                                                           \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
	int name(int at, const char *path, int flags, ...)                                                                 \
	{                                                                                                                  \
		va_list rest;                                                                                                  \
		va_start(rest, flags);                                                                                         \
		int mode = take_mode(flags, &rest);                                                                            \
		va_end(rest);                                                                                                  \
		return open_at(at, path, flags, (mode_t)mode);                                                                 \
	}
OPENAT(openat)
OPENAT(openat64)

int creat(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode)
{
	return creat(path, mode);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	struct iovec part = {(void *)bytes, length};
	return put(fd, &part, 1, -1);
}

ssize_t writev(int fd, const struct iovec *parts, int n_parts)
{
	return put(fd, parts, n_parts, -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
	struct iovec part = {(void *)bytes, length};
	return put(fd, &part, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset)
{
	return pwrite(fd, bytes, length, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n_parts, off_t offset)
{
	return put(fd, parts, n_parts, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int n_parts, off64_t offset)
{
	return put(fd, parts, n_parts, offset);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned flags)
{
	char path[PATH_MAX];
	struct stat found;
	if (!is_watched(to, &found, path))
		return real_copy(from, from_at, to, to_at, length, flags);
	pthread_mutex_lock(&order);
	ssize_t done = real_copy(from, from_at, to, to_at, length, flags);
	if (done > 0)
		note_copied(to, found.st_ino, (to_at != NULL ? *to_at : lseek64(to, 0, SEEK_CUR)) - done, (size_t)done);
	pthread_mutex_unlock(&order);
	return done;
}

ssize_t sendfile64(int to, int from, off64_t *from_at, size_t length)
{
	char path[PATH_MAX];
	struct stat found;
	if (!is_watched(to, &found, path))
		return real_sendfile(to, from, from_at, length);
	pthread_mutex_lock(&order);
	ssize_t done = real_sendfile(to, from, from_at, length);
	if (done > 0)
		note_copied(to, found.st_ino, lseek64(to, 0, SEEK_CUR) - done, (size_t)done);
	pthread_mutex_unlock(&order);
	return done;
}

ssize_t sendfile(int to, int from, off_t *from_at, size_t length)
{
	return sendfile64(to, from, from_at, length);
}

int ftruncate64(int fd, off64_t length)
{
	begin();
	pthread_mutex_lock(&order);
	int result = real_ftruncate(fd, length);
	if (result == 0)
		note_length(fd);
	pthread_mutex_unlock(&order);
	return result;
}

int ftruncate(int fd, off_t length)
{
	return ftruncate64(fd, length);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
	begin();
	pthread_mutex_lock(&order);
	int result = real_fallocate(fd, mode, offset, length);
	if (result == 0 && (mode & FALLOC_FL_KEEP_SIZE) == 0)
		note_length(fd);
	pthread_mutex_unlock(&order);
	return result;
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	return fallocate64(fd, mode, offset, length);
}

int posix_fallocate64(int fd, off64_t offset, off64_t length)
{
	return fallocate64(fd, 0, offset, length) == 0 ? 0 : errno;
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
	return posix_fallocate64(fd, offset, length);
}

int fsync(int fd)
{
	return sync_file(fd);
}

int fdatasync(int fd)
{
	return sync_file(fd);
}

void *mmap64(void *at, size_t length, int access, int flags, int fd, off64_t offset)
{
	char path[PATH_MAX];
	struct stat found;
	char *map = (char *)syscall(SYS_mmap, at, length, access, flags, fd, offset);
	int is_for_writing = (access & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0 && fd >= 0;
	if (map == MAP_FAILED || !is_for_writing || !is_watched(fd, &found, path))
		return map;
	size_t end = strlen(path);
	if (end < sizeof mapped || strcmp(path + end - (sizeof mapped - 1), mapped) != 0)
		return map;
	pthread_mutex_lock(&order);
	struct map *place = maps;
	while (place < maps + MAX_MAPS && place->at != NULL)
		place++;
	if (place == maps + MAX_MAPS || offset != 0)
		fail("a map that finds no place");
	*place = (struct map){map, length, found.st_ino, fcntl(fd, F_DUPFD_CLOEXEC, 0), NULL, 0};
	/* What is in the file has been noted. */
	follow_length(place);
	memcpy(place->noted, map, place->n_noted);
	pthread_mutex_unlock(&order);
	return map;
}

void *mmap(void *at, size_t length, int access, int flags, int fd, off_t offset)
{
	return mmap64(at, length, access, flags, fd, offset);
}

int munmap(void *at, size_t length)
{
	pthread_mutex_lock(&order);
	for (struct map *map = maps; map < maps + MAX_MAPS; map++) {
		if (map->at == at) {
			note_map(map);
			free(map->noted);
			close(map->fd);
			map->at = NULL;
		}
	}
	pthread_mutex_unlock(&order);
	return (int)syscall(SYS_munmap, at, length);
}

int msync(void *at, size_t length, int flags)
{
	uint64_t file = 0, id = new_id();
	pthread_mutex_lock(&order);
	for (struct map *map = maps; map < maps + MAX_MAPS; map++) {
		if (map->at == at)
			file = map->file;
	}
	note_maps();
	pthread_mutex_unlock(&order);
	if (file == 0)
		return (int)syscall(SYS_msync, at, length, flags);
	note(SYNC_BEGIN, file, id, 0, NULL, 0, 0);
	pause_for_disk();
	note(SYNC_END, file, id, 0, NULL, 0, 0);
	return 0;
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
	char names[2 * PATH_MAX], name[PATH_MAX];
	size_t length = 0;
	begin();
	pthread_mutex_lock(&order);
	if (is_name(from_at, from, names) && is_name(to_at, to, name)) {
		size_t middle = strlen(names) + 1;
		length = middle + strlen(name);
		strcpy(names + middle, name);
	}
	int result = real_renameat2(from_at, from, to_at, to, flags);
	if (result == 0 && length > 0)
		note_text(RENAME, 0, (flags & RENAME_EXCHANGE) != 0, names, length);
	pthread_mutex_unlock(&order);
	return result;
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
	return renameat2(from_at, from, to_at, to, 0);
}

int rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int at, const char *path, int flags)
{
	char name[PATH_MAX];
	begin();
	pthread_mutex_lock(&order);
	int is_ours = (flags & AT_REMOVEDIR) == 0 && is_name(at, path, name);
	int result = real_unlinkat(at, path, flags);
	if (result == 0 && is_ours)
		note_text(UNLINK, 0, 0, name, strlen(name));
	pthread_mutex_unlock(&order);
	return result;
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	char name[PATH_MAX];
	struct stat found;
	begin();
	pthread_mutex_lock(&order);
	int result = real_linkat(from_at, from, to_at, to, flags);
	if (result == 0 && is_name(to_at, to, name) && fstatat(to_at, to, &found, AT_SYMLINK_NOFOLLOW) == 0)
		note_text(LINK, found.st_ino, 0, name, strlen(name));
	pthread_mutex_unlock(&order);
	return result;
}

int link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkdirat(int at, const char *path, mode_t mode)
{
	char name[PATH_MAX];
	begin();
	pthread_mutex_lock(&order);
	int result = real_mkdirat(at, path, mode);
	if (result == 0 && is_name(at, path, name))
		note_text(FOLDER, 0, 0, name, strlen(name));
	pthread_mutex_unlock(&order);
	return result;
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}
