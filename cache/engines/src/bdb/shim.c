/*
 * Plain functions over BerkeleyDB 5.3, whose handles are structures of function pointers that change from release to
 * release: only a C compiler with its header knows them. `./setup.sh --with bdb` compiles this file and links it to the
 * library of the system; shim/library.rs loads the result, and shim/mod.rs calls each function here.
 *
 * A function returns 0, or an error as BerkeleyDB numbers them. Lengths are in bytes.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <db.h>

#if DB_VERSION_MAJOR != 5 || DB_VERSION_MINOR != 3
#error "this is for BerkeleyDB 5.3, the last release under the Sleepycat licence"
#endif

/* Changes whenever a function here does, so that a library compiled from an older file is refused. */
#define INTERFACE 3

/* What BerkeleyDB said to this thread in its last call, which tells more than the number of the error. */
static _Thread_local char said[512];

/* Each function that may fail begins with this, so that nobody hears of what befell an earlier call. */
static void hear_anew(void)
{
	said[0] = '\0';
}

static void listen(const DB_ENV *env, const char *prefix, const char *message)
{
	size_t len = strlen(said);

	(void)env;
	(void)prefix;
	snprintf(said + len, sizeof said - len, "%s%s", len != 0 ? "; " : "", message);
}

int larder_bdb_interface(void)
{
	return INTERFACE;
}

/* The release of the library that is loaded, which may be newer than the header. */
void larder_bdb_version(int *major, int *minor, int *patch)
{
	db_version(major, minor, patch);
}

/* What an error of the last call is. Valid until the thread's next one. */
const char *larder_bdb_words(int error)
{
	return said[0] != '\0' ? said : db_strerror(error);
}

/*
 * Opens the environment in a folder, for this process alone, and brings it back to its last commit that the log holds.
 * `sync`: 0 leaves commits in memory, 1 writes them to the system, 2 has the disk hold them.
 */
int larder_bdb_open_environment(const char *folder, uint64_t cache, int sync, DB_ENV **opened)
{
	DB_ENV *env;
	int error;
	const uint32_t flags = DB_CREATE | DB_PRIVATE | DB_THREAD | DB_RECOVER | DB_INIT_TXN | DB_INIT_LOCK |
	    DB_INIT_LOG | DB_INIT_MPOOL;

	hear_anew();
	if ((error = db_env_create(&env, 0)) != 0)
		return error;
	env->set_errcall(env, listen);
	if ((error = env->set_cachesize(env, (uint32_t)(cache >> 30), (uint32_t)(cache & ((1u << 30) - 1)), 1)) != 0 ||
	    (error = env->set_lk_detect(env, DB_LOCK_MINWRITE)) != 0 ||
	    (error = env->set_tx_max(env, 1024)) != 0 ||
	    (error = env->log_set_config(env, DB_LOG_AUTO_REMOVE, 1)) != 0 ||
	    (sync == 0 && (error = env->set_flags(env, DB_TXN_NOSYNC, 1)) != 0) ||
	    (sync == 1 && (error = env->set_flags(env, DB_TXN_WRITE_NOSYNC, 1)) != 0) ||
	    (error = env->open(env, folder, flags, 0600)) != 0) {
		env->close(env, 0);
		return error;
	}
	*opened = env;
	return 0;
}

int larder_bdb_close_environment(DB_ENV *env)
{
	hear_anew();
	return env->close(env, 0);
}

/* What is in force: the cache, which BerkeleyDB makes larger than it was told to, and the length of a log file. */
int larder_bdb_settings(DB_ENV *env, uint64_t *cache, uint32_t *log_file)
{
	uint32_t gigabytes, bytes;
	int parts, error;

	hear_anew();
	if ((error = env->get_cachesize(env, &gigabytes, &bytes, &parts)) != 0)
		return error;
	*cache = ((uint64_t)gigabytes << 30) + bytes;
	return env->get_lg_max(env, log_file);
}

/*
 * Brings what commits have changed to the databases' files and the disk, and removes the log that is needed no more. With
 * `kilobytes`, only after so much log.
 */
int larder_bdb_checkpoint(DB_ENV *env, uint32_t kilobytes)
{
	int error;

	hear_anew();
	error = env->txn_checkpoint(env, kilobytes, 0, 0);
	/* DB_LOG_AUTO_REMOVE looks only when a file of the log is full. */
	return error != 0 ? error : env->log_archive(env, NULL, DB_ARCH_REMOVE);
}

/* Opens a database of the environment, made when it is missing. A page size of 0 is the file system's. */
int larder_bdb_open_database(DB_ENV *env, const char *name, int is_hash, uint32_t page_size, DB **opened)
{
	DB *db;
	int error;

	hear_anew();
	if ((error = db_create(&db, env, 0)) != 0)
		return error;
	if ((page_size != 0 && (error = db->set_pagesize(db, page_size)) != 0) ||
	    (error = db->open(db, NULL, name, NULL, is_hash ? DB_HASH : DB_BTREE,
	    DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0600)) != 0) {
		db->close(db, DB_NOSYNC);
		return error;
	}
	*opened = db;
	return 0;
}

/* Says whether a database that is there is a hash table; of other kinds, that it is none. */
int larder_bdb_is_hash(DB_ENV *env, const char *name, int *is_hash)
{
	DB *db;
	DBTYPE type;
	int error;

	hear_anew();
	if ((error = db_create(&db, env, 0)) != 0)
		return error;
	if ((error = db->open(db, NULL, name, NULL, DB_UNKNOWN, DB_RDONLY | DB_THREAD, 0)) == 0 &&
	    (error = db->get_type(db, &type)) == 0)
		*is_hash = type == DB_HASH;
	db->close(db, DB_NOSYNC);
	return error;
}

int larder_bdb_close_database(DB *db)
{
	hear_anew();
	/* What it holds in memory is in the log, or was written by a checkpoint. */
	return db->close(db, DB_NOSYNC);
}

int larder_bdb_begin(DB_ENV *env, DB_TXN **begun)
{
	hear_anew();
	return env->txn_begin(env, NULL, begun, 0);
}

int larder_bdb_commit(DB_TXN *txn)
{
	hear_anew();
	return txn->commit(txn, 0);
}

int larder_bdb_abort(DB_TXN *txn)
{
	hear_anew();
	return txn->abort(txn);
}

static DBT borrowed(const void *data, uint32_t len)
{
	DBT dbt;

	memset(&dbt, 0, sizeof dbt);
	dbt.data = (void *)data;
	dbt.size = len;
	return dbt;
}

static DBT room(void *data, uint32_t len)
{
	DBT dbt = borrowed(data, 0);

	dbt.ulen = len;
	dbt.flags = DB_DBT_USERMEM;
	return dbt;
}

/*
 * Copies a record, of which `len` becomes the length; more than there is room for is DB_BUFFER_SMALL. `head`, unless it
 * is 0, is how much of its beginning is wanted. Inside a transaction that will change it, `locks` takes the lock for that.
 */
int larder_bdb_get(DB *db, DB_TXN *txn, const void *key, uint32_t key_len, int locks, uint32_t head, void *buffer,
    uint32_t buffer_len, uint32_t *len)
{
	DBT k = borrowed(key, key_len), v = room(buffer, buffer_len);
	int error;

	hear_anew();
	if (head != 0) {
		v.flags |= DB_DBT_PARTIAL;
		v.dlen = head;
	}
	error = db->get(db, txn, &k, &v, locks ? DB_RMW : 0);
	*len = v.size;
	return error;
}

/* Stores a record; with `head`, only its first so many bytes, in place of those that are there. */
int larder_bdb_put(DB *db, DB_TXN *txn, const void *key, uint32_t key_len, const void *value, uint32_t value_len,
    uint32_t head)
{
	DBT k = borrowed(key, key_len), v = borrowed(value, value_len);

	hear_anew();
	if (head != 0) {
		v.flags = DB_DBT_PARTIAL;
		v.dlen = head;
	}
	return db->put(db, txn, &k, &v, 0);
}

int larder_bdb_delete(DB *db, DB_TXN *txn, const void *key, uint32_t key_len)
{
	DBT k = borrowed(key, key_len);

	hear_anew();
	return db->del(db, txn, &k, 0);
}

/* Copies the first key of a B-tree. */
int larder_bdb_first(DB *db, DB_TXN *txn, void *buffer, uint32_t buffer_len, uint32_t *len)
{
	DBT k = room(buffer, buffer_len), nothing = room(NULL, 0);
	DBC *cursor;
	int error, closed;

	hear_anew();
	nothing.flags |= DB_DBT_PARTIAL;
	if ((error = db->cursor(db, txn, &cursor, 0)) != 0)
		return error;
	error = cursor->get(cursor, &k, &nothing, DB_FIRST);
	*len = k.size;
	closed = cursor->close(cursor);
	return error != 0 ? error : closed;
}

/* Removes every record. */
int larder_bdb_truncate(DB *db, DB_TXN *txn)
{
	uint32_t count;

	hear_anew();
	return db->truncate(db, txn, &count, 0);
}

/* The pages of a database and their size. */
int larder_bdb_pages(DB *db, int is_hash, uint32_t *pages, uint32_t *page_size)
{
	void *stat = NULL;
	int error;

	hear_anew();
	if ((error = db->stat(db, NULL, &stat, DB_FAST_STAT)) != 0)
		return error;
	if (is_hash) {
		*pages = ((DB_HASH_STAT *)stat)->hash_pagecnt;
		*page_size = ((DB_HASH_STAT *)stat)->hash_pagesize;
	} else {
		*pages = ((DB_BTREE_STAT *)stat)->bt_pagecnt;
		*page_size = ((DB_BTREE_STAT *)stat)->bt_pagesize;
	}
	free(stat);
	return 0;
}
