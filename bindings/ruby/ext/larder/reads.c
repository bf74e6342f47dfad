/* Reads of one key. */
#include <string.h>

#include "cache.h"
#include "library.h"
#include "methods.h"
#include "values.h"

/* A value up to this length is read without a copy in the session. */
#define BUFFER_SIZE 4096

static int32_t run_get(struct call *it) {
  return library.get(it->session, it->key, it->key_len, it->buffer, it->buffer_len, &it->len, &it->meta);
}

/* The value of a read: in its buffer, or in the session where that is too small. */
static VALUE make_value(struct call *it) {
  size_t len;
  const void *data = library.value(it->session, &len);
  return value_of(data, len, it->meta.flags, it->cache->serializer);
}

/* The value of a key and its metadata; Qundef where it is absent. */
static VALUE read_value(VALUE self, VALUE key, larder_meta *meta) {
  struct cache *cache = cache_of(self);
  char buffer[BUFFER_SIZE];
  struct call call;
  call.cache = cache;
  call.run = run_get;
  call.buffer = buffer;
  call.buffer_len = sizeof buffer;
  key = key_of(key, cache->waits);
  call.key = RSTRING_PTR(key);
  call.key_len = RSTRING_LEN(key);
  perform(&call);
  RB_GC_GUARD(key);
  *meta = call.meta;
  if (call.code == LARDER_TOO_SMALL) return finish(&call, make_value);
  done(&call);
  if (call.code == LARDER_NOT_FOUND) return Qundef;
  return value_of(buffer, call.len, call.meta.flags, cache->serializer);
}

/*
 * call-seq: get(key, default = nil) -> value or default
 *
 * The value of a key, or +default+ where it is absent.
 */
static VALUE store_get(int argc, VALUE *argv, VALUE self) {
  rb_check_arity(argc, 1, 2);
  larder_meta meta;
  VALUE value = read_value(self, argv[0], &meta);
  if (value != Qundef) return value;
  return argc == 2 ? argv[1] : Qnil;
}

/*
 * call-seq: gets(key) -> [value, version] or [nil, nil]
 *
 * The value of a key and its version for #cas. The version is +nil+ where the store has no versions.
 */
static VALUE store_gets(VALUE self, VALUE key) {
  larder_meta meta;
  VALUE value = read_value(self, key, &meta);
  if (value == Qundef) return rb_assoc_new(Qnil, Qnil);
  return rb_assoc_new(value, meta.version == LARDER_UNKNOWN ? Qnil : ULL2NUM(meta.version));
}

/*
 * call-seq: key?(key) -> true or false
 *
 * Whether a key is there.
 */
static VALUE store_has(VALUE self, VALUE key) {
  struct cache *cache = cache_of(self);
  struct call call = {.cache = cache, .run = run_get};
  key = key_of(key, cache->waits);
  call.key = RSTRING_PTR(key);
  call.key_len = RSTRING_LEN(key);
  perform(&call);
  RB_GC_GUARD(key);
  done(&call);
  return call.code == LARDER_NOT_FOUND ? Qfalse : Qtrue;
}

void define_reads(VALUE store) {
  rb_define_method(store, "get", store_get, -1);
  rb_define_method(store, "gets", store_gets, 1);
  rb_define_method(store, "key?", store_has, 1);
}
