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
 * Descriptors are asked for their file at each call. So this layer needs no table of them, which dup, fork and close
 * would change.
 */
#define _GNU_SOURCE
#include "notes.h"
#include "maps.h"

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

/*
 * Notes the present name of a file. Some programs rename by a system call of their own and then sync the file, and only
 * this record tells of it.
 */
static void note_name(const char *path, const struct stat *file)
{
	struct stat found;
	if (S_ISREG(file->st_mode) && stat(path, &found) == 0 && found.st_ino == file->st_ino)
		note_text(NAMED, file->st_ino, 0, path + folder_length + 1, strlen(path + folder_length + 1));
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
	note_name(path, &found);
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
