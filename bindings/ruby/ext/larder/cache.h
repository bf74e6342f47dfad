/*
 * An open store with its sessions, and a call on one of them.
 *
 * Ruby's lock (the GVL) guards everything here: it is held whenever these fields are read or changed. A call that may wait
 * runs without it. A session belongs to one call at a time, so two threads that wait at once have two sessions.
 */
#ifndef LARDER_RUBY_CACHE_H
#define LARDER_RUBY_CACHE_H

#include <larder.h>
#include <ruby.h>

/* The store of a Larder::Store. */
struct cache {
  char *url;
  VALUE serializer;
  larder_store *store; /* NULL before it is opened, and after it is closed */
  unsigned generation; /* of the process that has opened it */
  int waits;           /* whether a call may wait for a server or a disk */
  int closed;
  larder_session **free; /* sessions that nobody uses now */
  size_t n_free, capacity, n_taken;
};

/* A call, its arguments, and what it has given. Which fields count depends on `run`. */
struct call {
  struct cache *cache;
  larder_session *session;
  unsigned generation; /* of the process that has taken the session */
  int32_t (*run)(struct call *);
  int32_t code;
  const void *key, *value;
  size_t key_len, value_len;
  int64_t ttl_ms;
  uint64_t number; /* a version, a delta or a time in milliseconds, and the number that was counted */
  uint64_t early_ms;
  uint32_t flags;
  const larder_initial *absent;
  char *buffer;
  size_t buffer_len, len;
  larder_meta meta;
  const larder_bytes *keys;
  size_t count;
  larder_entry *entries;
  const larder_put *puts;
  larder_outcome *outcomes;
  int32_t *codes;
  larder_leased *leased;
  const larder_token *token;
};

extern const rb_data_type_t cache_type;

/* The cache of a Larder::Store. */
struct cache *cache_of(VALUE self);

/* Opens the store of a URL. */
void cache_open(struct cache *cache, const char *url);

/* Closes the store, once no call uses it. */
void cache_close(struct cache *cache);

/* Does a call with a session of its own, and keeps the session. An error is raised. `finish` or `done` must follow. */
void perform(struct call *call);

/* Gives the session of a call back. */
void done(struct call *call);

/* Makes the result of a call whose values lie in its session, and gives the session back, also where that raises. */
VALUE finish(struct call *call, VALUE (*make)(struct call *));

/* Runs `work`, without Ruby's lock where it may wait. What must be undone, where this thread is to end, `undo` does. */
void outside(int waits, void (*work)(void *), void *argument, void (*undo)(void *));

/* Raises the error of a code. */
void raise_code(int32_t code, const char *message) __attribute__((noreturn));

/* From now on forks are counted. */
void watch_forks(void);

#endif
