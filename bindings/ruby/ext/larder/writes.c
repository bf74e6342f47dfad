/* Writes of one key. The public methods with their keyword arguments are in lib/larder/store.rb. */
#include <string.h>

#include "cache.h"
#include "library.h"
#include "methods.h"
#include "values.h"

/* A call on a key. `*key` becomes its bytes, which the caller keeps alive. */
static struct call call_on(VALUE self, VALUE *key, int32_t (*run)(struct call *)) {
  struct cache *cache = cache_of(self);
  *key = key_of(*key, cache->waits);
  return (struct call){.cache = cache, .run = run, .key = RSTRING_PTR(*key), .key_len = RSTRING_LEN(*key)};
}

/* A whole number from 0 to 2^64 - 1. NUM2ULL alone would wrap a negative one. */
static uint64_t whole(VALUE number, const char *name) {
  if (!RB_INTEGER_TYPE_P(number)) {
    rb_raise(rb_eTypeError, "%s is a %" PRIsVALUE "; write a whole number", name, rb_obj_class(number));
  }
  if (RTEST(rb_funcall(number, '<', 1, INT2FIX(0))) || NUM2LONG(rb_funcall(number, rb_intern("bit_length"), 0)) > 64) {
    rb_raise(rb_eArgError, "%s is %" PRIsVALUE "; write a number from 0 to 2^64 - 1", name, number);
  }
  return NUM2ULL(number);
}

#define PLACE(it) it->session, it->key, it->key_len, it->value, it->value_len, it->ttl_ms, it->flags

static int32_t run_set(struct call *it) { return library.set(PLACE(it), NULL); }
static int32_t run_add(struct call *it) { return library.add(PLACE(it), NULL); }
static int32_t run_replace(struct call *it) { return library.replace(PLACE(it), NULL); }
static int32_t run_cas(struct call *it) { return library.cas(PLACE(it), it->number, NULL); }

static VALUE put(VALUE self, VALUE key, VALUE value, VALUE ttl, uint64_t version, int32_t (*run)(struct call *)) {
  struct stored stored = stored_of(value, cache_of(self)->serializer, cache_of(self)->waits);
  int64_t ttl_ms = ttl_of(ttl);
  struct call call = call_on(self, &key, run);
  call.value = RSTRING_PTR(stored.string);
  call.value_len = RSTRING_LEN(stored.string);
  call.flags = stored.flags;
  call.ttl_ms = ttl_ms;
  call.number = version;
  perform(&call);
  RB_GC_GUARD(key);
  RB_GC_GUARD(stored.string);
  done(&call);
  return call.code == LARDER_OK ? Qtrue : Qfalse;
}

static VALUE store_set(VALUE self, VALUE key, VALUE value, VALUE ttl) { return put(self, key, value, ttl, 0, run_set); }

static VALUE store_add(VALUE self, VALUE key, VALUE value, VALUE ttl) { return put(self, key, value, ttl, 0, run_add); }

static VALUE store_replace(VALUE self, VALUE key, VALUE value, VALUE ttl) {
  return put(self, key, value, ttl, 0, run_replace);
}

static VALUE store_cas(VALUE self, VALUE key, VALUE value, VALUE version, VALUE ttl) {
  return put(self, key, value, ttl, whole(version, "the version"), run_cas);
}

static int32_t run_incr(struct call *it) {
  return library.incr(it->session, it->key, it->key_len, it->number, it->absent, &it->number);
}

static int32_t run_decr(struct call *it) {
  return library.decr(it->session, it->key, it->key_len, it->number, it->absent, &it->number);
}

static VALUE count(VALUE self, VALUE key, VALUE delta, VALUE initial, VALUE ttl, int32_t (*run)(struct call *)) {
  larder_initial absent = {.ttl_ms = ttl_of(ttl)};
  uint64_t by = whole(delta, "the delta");
  if (!NIL_P(initial)) absent.number = whole(initial, "initial");
  struct call call = call_on(self, &key, run);
  call.number = by;
  call.absent = NIL_P(initial) ? NULL : &absent;
  perform(&call);
  RB_GC_GUARD(key);
  done(&call);
  return call.code == LARDER_OK ? ULL2NUM(call.number) : Qnil;
}

static VALUE store_incr(VALUE self, VALUE key, VALUE delta, VALUE initial, VALUE ttl) {
  return count(self, key, delta, initial, ttl, run_incr);
}

static VALUE store_decr(VALUE self, VALUE key, VALUE delta, VALUE initial, VALUE ttl) {
  return count(self, key, delta, initial, ttl, run_decr);
}

/* A call on a key that only tells whether the key was there. */
static VALUE tell(VALUE self, VALUE key, int64_t ttl_ms, int32_t (*run)(struct call *)) {
  struct call call = call_on(self, &key, run);
  call.ttl_ms = ttl_ms;
  perform(&call);
  RB_GC_GUARD(key);
  done(&call);
  return call.code == LARDER_OK ? Qtrue : Qfalse;
}

static int32_t run_touch(struct call *it) { return library.touch(it->session, it->key, it->key_len, it->ttl_ms); }
static int32_t run_delete(struct call *it) { return library.delete(it->session, it->key, it->key_len); }
static int32_t run_expire(struct call *it) { return library.expire(it->session, it->key, it->key_len, it->ttl_ms); }

/*
 * call-seq: touch(key, ttl = nil) -> true or false
 *
 * Gives a key a new TTL in seconds; whether it was there.
 */
static VALUE store_touch(int argc, VALUE *argv, VALUE self) {
  rb_check_arity(argc, 1, 2);
  return tell(self, argv[0], ttl_of(argc == 2 ? argv[1] : Qnil), run_touch);
}

/*
 * call-seq: delete(key) -> true or false
 *
 * Removes a key; whether it was there.
 */
static VALUE store_delete(VALUE self, VALUE key) { return tell(self, key, 0, run_delete); }

static VALUE store_expire(VALUE self, VALUE key, VALUE keep) { return tell(self, key, ttl_of(keep), run_expire); }

static int32_t run_clear(struct call *it) { return library.clear(it->session); }

/*
 * call-seq: clear -> nil
 *
 * Removes every entry of the store, or of its namespace. On a server of others it is an UnsupportedError.
 */
static VALUE store_clear(VALUE self) {
  struct call call = {.cache = cache_of(self), .run = run_clear};
  perform(&call);
  done(&call);
  return Qnil;
}

void define_writes(VALUE store) {
  rb_define_private_method(store, "_set", store_set, 3);
  rb_define_private_method(store, "_add", store_add, 3);
  rb_define_private_method(store, "_replace", store_replace, 3);
  rb_define_private_method(store, "_cas", store_cas, 4);
  rb_define_private_method(store, "_incr", store_incr, 4);
  rb_define_private_method(store, "_decr", store_decr, 4);
  rb_define_private_method(store, "_expire", store_expire, 2);
  rb_define_method(store, "touch", store_touch, -1);
  rb_define_method(store, "delete", store_delete, 1);
  rb_define_method(store, "clear", store_clear, 0);
}
