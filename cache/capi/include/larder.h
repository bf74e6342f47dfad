/*
 * Larder: caches behind one interface. A URL names the cache: memory of the process, a file that processes share,
 * memcached, Redis, or a stack of these. docs/c.md has an introduction with an example.
 *
 * Codes. A function that returns `int32_t` returns an outcome (LARDER_OK and the other numbers from 0 on) or an error
 * (below 0). A miss is an outcome. The text of an error is in larder_message(), or in the buffer `message` of a function
 * without a session. Such a buffer may be NULL; a longer text is cut.
 *
 * Pointers. Each pointer to results may be NULL, unless its function says otherwise. A pointer to bytes may be NULL where
 * their number is 0. All pointers must have room for what they name. Keys and values are any bytes, without an end.
 * Arguments that cannot be right are LARDER_E_ARGUMENT, and nothing is done.
 *
 * Threads. A larder_store may be used by any number of threads. A larder_session is for one thread at a time. The library
 * calls no function of the program, and has no global state but the stores of larder_open_kept().
 *
 * Fork. In a forked child the functions of stores and sessions that were opened before the fork return LARDER_E_FORKED,
 * and send nothing. Those of `memory:` and `mmap:` go on. A child opens the other stores again by their URLs. It may close
 * the handles that it has from its parent: that leaves the parent's connections and servers alone.
 */
#ifndef LARDER_H
#define LARDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Outcomes. */
#define LARDER_OK 0                     /* done: found, stored, counted, removed */
#define LARDER_NOT_FOUND 1              /* the key is absent */
#define LARDER_NOT_STORED 2             /* the condition did not hold, or the token was void */
#define LARDER_EXISTS 3                 /* the entry has another version */
#define LARDER_TOO_SMALL 4              /* the value is longer than the buffer; larder_value() has it */
#define LARDER_LOAD 5                   /* this caller is to load the value */
#define LARDER_WAIT 6                   /* another caller loads the value */

/* Errors. */
#define LARDER_E_ARGUMENT (-1)          /* an argument is NULL, too long, or outside its range */
#define LARDER_E_PANIC (-2)             /* a fault in Larder, which has ended the session */
#define LARDER_E_KEY_TOO_LONG (-3)      /* the key is longer than the engine takes */
#define LARDER_E_INVALID_KEY (-4)       /* the engine does not take this key: it is empty, or has forbidden bytes */
#define LARDER_E_VALUE_TOO_LARGE (-5)   /* the value is larger than the engine takes */
#define LARDER_E_FULL (-6)              /* the store has no room */
#define LARDER_E_CORRUPTED (-7)         /* stored data differs from the written data */
#define LARDER_E_BUSY (-8)              /* another session holds a lock; the call may be repeated */
#define LARDER_E_TIMEOUT (-9)           /* no answer came in time; the operation may have taken effect */
#define LARDER_E_UNAVAILABLE (-10)      /* the store is not there */
#define LARDER_E_FORKED (-11)           /* the store was opened before a fork */
#define LARDER_E_UNSUPPORTED (-12)      /* the engine has no such operation */
#define LARDER_E_NOT_A_NUMBER (-13)     /* the value is not a decimal number below 2^64 */
#define LARDER_E_UNKNOWN_SCHEME (-14)   /* the URL names an engine that this build does not have */
#define LARDER_E_INVALID_URL (-15)      /* the URL cannot be read */
#define LARDER_E_INVALID_OPTIONS (-16)  /* an option of the URL is unknown, or has a value outside its range */
#define LARDER_E_PROTOCOL (-17)         /* a server broke its protocol, or named an error */
#define LARDER_E_IO (-18)               /* the system refused an operation on a file or a socket */
#define LARDER_E_NO_ANSWER (-19)        /* of an entry: the batch failed before the entry had an answer */
#define LARDER_E_OTHER (-20)            /* an error of another kind */

/* Times in milliseconds, versions and counters. */
#define LARDER_FOREVER INT64_C(-1)      /* a TTL without end */
#define LARDER_TTL_UNKNOWN INT64_C(-2)  /* the engine does not report the rest of the TTL */
#define LARDER_UNKNOWN UINT64_MAX       /* the engine does not tell this version or counter */

/* The conditions of larder_put. */
#define LARDER_SET 0                    /* in any case */
#define LARDER_ADD 1                    /* only where the key is absent */
#define LARDER_REPLACE 2                /* only where the key exists */
#define LARDER_CAS 3                    /* only where the entry has the version */
#define LARDER_APPEND 4                 /* behind the existing value, whose flags and TTL stay */
#define LARDER_PREPEND 5                /* before the existing value, whose flags and TTL stay */

/* An open store, which threads share. */
typedef struct larder_store larder_store;

/* One thread's handle on a store: a connection, buffers, the text of the last error. */
typedef struct larder_session larder_session;

/* Bytes: a key, or a value. */
typedef struct larder_bytes {
  const void *data;
  size_t len;
} larder_bytes;

/* The metadata of an entry. */
typedef struct larder_meta {
  uint64_t version; /* changes with every change of the entry; or LARDER_UNKNOWN */
  int64_t ttl_ms;   /* the rest of its TTL; or LARDER_FOREVER, or LARDER_TTL_UNKNOWN */
  uint32_t flags;   /* the flags that it was stored with */
  uint32_t stale;   /* 1 where the value is out of date, else 0 */
} larder_meta;

/* A session and the place for what larder_read() reads by it. The caller fills in the first three fields once. */
typedef struct larder_reader {
  larder_session *session;
  void *value;      /* room for a value */
  size_t capacity;  /* the size of this room */
  size_t value_len; /* the length of the last value */
  larder_meta meta; /* its metadata */
} larder_reader;

/* The answer to a key of larder_get_many(). */
typedef struct larder_entry {
  int32_t code;       /* LARDER_OK, LARDER_NOT_FOUND, or LARDER_E_NO_ANSWER */
  larder_bytes value; /* stays until the session's next call */
  larder_meta meta;
} larder_entry;

/* An entry to store. */
typedef struct larder_put {
  larder_bytes key;
  larder_bytes value;
  int64_t ttl_ms;   /* its lifetime, or LARDER_FOREVER; with 0 it is absent at once */
  uint64_t version; /* for LARDER_CAS only */
  uint32_t flags;   /* a number for the caller's own use */
  uint32_t mode;    /* LARDER_SET and so on */
} larder_put;

/* The outcome of an entry of a batch. */
typedef struct larder_outcome {
  int32_t code;     /* as the function for one entry returns it, or LARDER_E_NO_ANSWER */
  uint64_t version; /* of the stored entry, or LARDER_UNKNOWN */
} larder_outcome;

/* The number that larder_incr() stores where the key is absent. */
typedef struct larder_initial {
  uint64_t number;
  int64_t ttl_ms; /* its lifetime, or LARDER_FOREVER */
} larder_initial;

/* The right to fill a key. Any session of the store, in any process, can use it. */
typedef struct larder_token {
  uint8_t bytes[32];
} larder_token;

/* The answer of larder_get_or_lease(). */
typedef struct larder_leased {
  int32_t code;       /* LARDER_OK, LARDER_LOAD or LARDER_WAIT; or an error */
  larder_bytes value; /* with LARDER_OK, and where meta.stale is 1; stays until the session's next call */
  larder_meta meta;   /* meta.stale is 1 where LARDER_LOAD or LARDER_WAIT comes with an older value */
  larder_token token; /* with LARDER_LOAD */
} larder_leased;

/* Counters since the store was opened, and levels now. LARDER_UNKNOWN is not known. */
typedef struct larder_stats {
  uint64_t hits;
  uint64_t misses;
  uint64_t sets;
  uint64_t deletes;
  uint64_t evictions;
  uint64_t expirations;
  uint64_t items;          /* entries held now */
  uint64_t bytes;          /* bytes that they take */
  uint64_t capacity_bytes; /* bytes that they may take */
  uint64_t connections;    /* opened by the sessions of this store */
  uint64_t requests_sent;  /* by the sessions of this store */
} larder_stats;

/* --- Stores --------------------------------------------------------------------------------------------------- */

/* The version of the library, as "0.2.0". */
const char *larder_version(void);

/* Opens the store of a URL. `store` must not be NULL; it becomes NULL where this fails. */
int32_t larder_open(const char *url, larder_store **store, char *message, size_t message_size);

/* Opens a session. `session` must not be NULL; it becomes NULL where this fails. A session may outlive its store. */
int32_t larder_session_open(const larder_store *store, larder_session **session, char *message, size_t message_size);

/*
 * Gives the store of a URL that the calling thread keeps, and a session of it: opened by the thread's first call with this
 * URL, and the same ones for each later call. It is for languages whose variables end with each request. The caller closes
 * neither: that happens when the thread ends. A forked child opens its own at its first call. `session` must not be NULL.
 */
int32_t larder_open_kept(const char *url, larder_store **store, larder_session **session, char *message,
                         size_t message_size);

/* Reads the counters. It may ask a server. `stats_size` is sizeof(larder_stats), which later versions may enlarge. */
int32_t larder_store_stats(const larder_store *store, larder_stats *stats, size_t stats_size, char *message,
                           size_t message_size);

/*
 * Ends the use of a store in order and frees it, also where this returns an error: what is not on the disk of its files is
 * written there. Sessions are closed before. NULL is LARDER_OK.
 */
int32_t larder_close(larder_store *store, char *message, size_t message_size);

/* --- Sessions ------------------------------------------------------------------------------------------------- */

/* Closes a session and frees it. NULL is left alone. */
void larder_session_close(larder_session *session);

/* The text of the error of the session's last call; empty where that succeeded. It stays until the next call. */
const char *larder_message(const larder_session *session);

/* The value of the session's last larder_get() or larder_get_and_touch(). It stays until the next call. */
const void *larder_value(const larder_session *session, size_t *value_len);

/* --- Reads ---------------------------------------------------------------------------------------------------- */

/*
 * Copies the value of a key into `value`, and its length into `value_len`: LARDER_OK, LARDER_NOT_FOUND. A value that is
 * longer than `capacity` is LARDER_TOO_SMALL: `value_len` has the needed length, and larder_value() has the value.
 */
int32_t larder_get(larder_session *session, const void *key, size_t key_len, void *value, size_t capacity,
                   size_t *value_len, larder_meta *meta);

/* The same into the place of a reader. Where each argument of a call costs, as in PHP, this call is the cheaper one. */
int32_t larder_read(larder_reader *reader, const void *key, size_t key_len);

/* The same, and gives the entry a new TTL. */
int32_t larder_get_and_touch(larder_session *session, const void *key, size_t key_len, int64_t ttl_ms, void *value,
                             size_t capacity, size_t *value_len, larder_meta *meta);

/* Reads many keys at once, and writes an answer for each to `entries`, in the order of the keys. */
int32_t larder_get_many(larder_session *session, const larder_bytes *keys, size_t count, larder_entry *entries);

/* --- Writes --------------------------------------------------------------------------------------------------- */

/* Stores a value. Each function that stores writes the version of the new entry to `version`, or LARDER_UNKNOWN. */
int32_t larder_set(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                   int64_t ttl_ms, uint32_t flags, uint64_t *version);

/* Stores a value where the key is absent; LARDER_NOT_STORED where it exists. */
int32_t larder_add(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                   int64_t ttl_ms, uint32_t flags, uint64_t *version);

/* Stores a value where the key exists; else LARDER_NOT_STORED. */
int32_t larder_replace(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                       int64_t ttl_ms, uint32_t flags, uint64_t *version);

/* Stores a value where the entry has the version `expected`; else LARDER_EXISTS, or LARDER_NOT_FOUND. */
int32_t larder_cas(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                   int64_t ttl_ms, uint32_t flags, uint64_t expected, uint64_t *version);

/* Puts bytes behind the value of a key, whose flags and TTL stay; LARDER_NOT_STORED where it is absent. */
int32_t larder_append(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                      uint64_t *version);

/* Puts bytes before the value of a key, whose flags and TTL stay; LARDER_NOT_STORED where it is absent. */
int32_t larder_prepend(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                       uint64_t *version);

/*
 * Stores many entries at once, and writes the outcome of each to `outcomes`. It is no transaction. Where an entry is
 * refused, the others are stored, and the first such error is returned. Where the call fails, it is not known whether
 * the entries with LARDER_E_NO_ANSWER are stored.
 */
int32_t larder_set_many(larder_session *session, const larder_put *entries, size_t count, larder_outcome *outcomes);

/*
 * Adds to the decimal number under a key, and writes the new one to `number`. The sum wraps at 2^64, and the TTL stays. An
 * absent key gets the number `absent` without `delta`; where `absent` is NULL, it is LARDER_NOT_FOUND.
 */
int32_t larder_incr(larder_session *session, const void *key, size_t key_len, uint64_t delta,
                    const larder_initial *absent, uint64_t *number);

/* Takes from the number under a key, which stops at 0. */
int32_t larder_decr(larder_session *session, const void *key, size_t key_len, uint64_t delta,
                    const larder_initial *absent, uint64_t *number);

/* Gives a key a new TTL: LARDER_OK, LARDER_NOT_FOUND. */
int32_t larder_touch(larder_session *session, const void *key, size_t key_len, int64_t ttl_ms);

/* Removes a key: LARDER_OK, LARDER_NOT_FOUND. */
int32_t larder_delete(larder_session *session, const void *key, size_t key_len);

/* Removes a key where its entry has the version; else LARDER_EXISTS, or LARDER_NOT_FOUND. */
int32_t larder_delete_if(larder_session *session, const void *key, size_t key_len, uint64_t version);

/* Removes many keys at once, and writes the outcome of each to `codes`. */
int32_t larder_delete_many(larder_session *session, const larder_bytes *keys, size_t count, int32_t *codes);

/* Removes every entry of the store, or of its namespace. On a server of others it is LARDER_E_UNSUPPORTED. */
int32_t larder_clear(larder_session *session);

/* --- Leases --------------------------------------------------------------------------------------------------- */

/*
 * Reads a value; or gives one caller, of all processes that share the store, the right to load it. `leased` must not be NULL.
 *
 *   LARDER_OK     the value is there
 *   LARDER_LOAD   this caller loads the value, and calls larder_fill() with the token
 *   LARDER_WAIT   another caller loads it: read again later, or take the older value where meta.stale is 1
 *
 * After `lease_ms` another caller is told to load. An entry with no more than `early_ms` of its TTL left is loaded by one
 * caller, while the others have its value. LARDER_E_BUSY and LARDER_E_FULL: load without a lease.
 */
int32_t larder_get_or_lease(larder_session *session, const void *key, size_t key_len, uint64_t lease_ms,
                            uint64_t early_ms, larder_leased *leased);

/* The same for many keys at once. Where a key has an error, the first such error is returned. */
int32_t larder_get_or_lease_many(larder_session *session, const larder_bytes *keys, size_t count, uint64_t lease_ms,
                                 uint64_t early_ms, larder_leased *entries);

/* Stores a loaded value. LARDER_NOT_STORED: the token is void, because somebody has changed the key since. */
int32_t larder_fill(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                    int64_t ttl_ms, uint32_t flags, const larder_token *token, uint64_t *version);

/* The same for many entries at once, each of the mode LARDER_SET with the token at its place. */
int32_t larder_fill_many(larder_session *session, const larder_put *entries, const larder_token *tokens, size_t count,
                         larder_outcome *outcomes);

/* Ends a lease without a value, so that the next caller loads; LARDER_NOT_FOUND where the lease was over. */
int32_t larder_release(larder_session *session, const void *key, size_t key_len, const larder_token *token);

/*
 * Marks an entry as stale, keeps it for `keep_ms` (LARDER_FOREVER: for the rest of its TTL), and makes all tokens of the key
 * void: LARDER_OK, LARDER_NOT_FOUND. The next larder_get_or_lease() is LARDER_LOAD.
 */
int32_t larder_expire(larder_session *session, const void *key, size_t key_len, int64_t keep_ms);

#ifdef __cplusplus
}
#endif

#endif /* LARDER_H */
