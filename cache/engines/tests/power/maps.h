/*
 * The files that the program changes through memory.
 *
 * Such a change has no call. Before each record of another change, and before a sync, the map is compared with a copy, and
 * the pages that differ are noted. So the journal has some of the states that a page was in, the last one before each sync
 * among them. Only LMDB's data are looked at: what the other mapped files hold is made anew by a start.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

enum { MAX_MAPS = 8, PAGE = 4096 };

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

static struct map maps[MAX_MAPS];

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
