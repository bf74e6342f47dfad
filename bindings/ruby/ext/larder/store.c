/*
 * The class Larder::Store: opening, counters, closing.
 *
 * This is an extension, because a call by Fiddle takes 3 to 5 microseconds, and a hit here about half of one. It also keeps
 * Ruby's lock where no call can wait, and lets it go where one may.
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "library.h"
#include "methods.h"

static VALUE store_allocate(VALUE class) {
  struct cache *cache;
  VALUE self = TypedData_Make_Struct(class, struct cache, &cache_type, cache);
  cache->serializer = Qnil;
  return self;
}

/*
 * Whether calls on a store may wait: all but those on memory, which a process alone or several share. There a call waits only
 * where another process was stopped within a write, so it keeps Ruby's lock, which is cheaper.
 */
static int may_wait(const char *url) { return strncmp(url, "memory:", 7) != 0 && strncmp(url, "mmap:", 5) != 0; }

static VALUE store_open(VALUE self, VALUE url, VALUE serializer) {
  struct cache *cache = cache_of(self);
  if (cache->url) rb_raise(rb_eRuntimeError, "the store is open already");
  cache->url = strdup(StringValueCStr(url));
  if (!cache->url) rb_memerror();
  cache->serializer = serializer;
  cache->waits = may_wait(cache->url);
  cache_open(cache, cache->url);
  return self;
}

/*
 * call-seq: waits? -> true or false
 *
 * Whether calls may wait for a server or a disk. Ruby's other threads run meanwhile.
 */
static VALUE store_waits(VALUE self) { return cache_of(self)->waits ? Qtrue : Qfalse; }

/*
 * call-seq: closed? -> true or false
 *
 * Whether the store was closed.
 */
static VALUE store_closed(VALUE self) { return cache_of(self)->closed ? Qtrue : Qfalse; }

/*
 * call-seq: close -> nil
 *
 * Ends the use of the store. A second call does nothing; every other call fails from then on.
 */
static VALUE store_close(VALUE self) {
  cache_close(cache_of(self));
  return Qnil;
}

struct counting {
  larder_store *store;
  larder_stats stats;
  int32_t code;
  char message[512];
};

static void count_all(void *counting) {
  struct counting *it = counting;
  it->code = library.store_stats(it->store, &it->stats, sizeof it->stats, it->message, sizeof it->message);
}

static void put_counter(VALUE told, const char *name, uint64_t number) {
  if (number != LARDER_UNKNOWN) rb_hash_aset(told, ID2SYM(rb_intern(name)), ULL2NUM(number));
}

static VALUE make_stats(struct call *call) {
  struct counting counting = {.store = call->cache->store};
  outside(call->cache->waits, count_all, &counting, NULL);
  if (counting.code < 0) raise_code(counting.code, counting.message);
  VALUE told = rb_hash_new();
#define COUNTER(name) put_counter(told, #name, counting.stats.name)
  COUNTER(hits);
  COUNTER(misses);
  COUNTER(sets);
  COUNTER(deletes);
  COUNTER(evictions);
  COUNTER(expirations);
  COUNTER(connections);
  COUNTER(requests_sent);
  COUNTER(items);
  COUNTER(bytes);
  COUNTER(capacity_bytes);
#undef COUNTER
  return told;
}

static int32_t run_nothing(struct call *call) {
  (void)call;
  return LARDER_OK;
}

/*
 * call-seq: stats -> hash
 *
 * Counters of the store: +:hits+, +:misses+, +:items+ and others, as far as it knows them.
 */
static VALUE store_stats(VALUE self) {
  /* The store stays open while a session is taken. */
  struct call call = {.cache = cache_of(self), .run = run_nothing};
  perform(&call);
  return finish(&call, make_stats);
}

static VALUE library_version(VALUE module) { return rb_utf8_str_new_cstr(library.version()); }

__attribute__((visibility("default"))) void Init_larder_ext(void) {
  load_library();
  watch_forks();
  /* A store is for the Ractor that has opened it, so the lock of that Ractor guards the store. What all share is written here only. */
  rb_ext_ractor_safe(true);
  VALUE larder = rb_define_module("Larder");
  rb_define_singleton_method(larder, "library_version", library_version, 0);
  VALUE store = rb_define_class_under(larder, "Store", rb_cObject);
  rb_define_alloc_func(store, store_allocate);
  rb_define_private_method(store, "_open", store_open, 2);
  rb_define_method(store, "waits?", store_waits, 0);
  rb_define_method(store, "closed?", store_closed, 0);
  rb_define_method(store, "close", store_close, 0);
  rb_define_method(store, "stats", store_stats, 0);
  define_reads(store);
  define_writes(store);
  define_batches(store);
  define_leases(store);
}
