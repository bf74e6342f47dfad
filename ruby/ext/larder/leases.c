/* Leases: one caller of all processes loads a key. lib/larder/loading.rb uses these. */
#include <string.h>

#include "cache.h"
#include "library.h"
#include "methods.h"
#include "values.h"

static int32_t run_lease(struct call *it) {
  return library.get_or_lease(it->session, it->key, it->key_len, it->number, it->early_ms, it->leased);
}

/* `[:value, value]`, `[:load, token]` or `[:wait, nil]`; with an older value, `[:load, token, value]` and so on. */
static VALUE make_leased(struct call *it) {
  const larder_leased *leased = it->leased;
  const char *name = leased->code == LARDER_OK ? "value" : leased->code == LARDER_LOAD ? "load" : "wait";
  VALUE told = rb_ary_new_from_args(1, ID2SYM(rb_intern(name)));
  if (leased->code == LARDER_LOAD) {
    rb_ary_push(told, rb_str_new((const char *)leased->token.bytes, sizeof leased->token.bytes));
  } else if (leased->code == LARDER_WAIT) {
    rb_ary_push(told, Qnil);
  }
  if (leased->code == LARDER_OK || leased->meta.stale) {
    rb_ary_push(told, value_of(leased->value.data, leased->value.len, leased->meta.flags, it->cache->serializer));
  }
  return told;
}

/* Reads a key, or takes the lease on it. Times are in seconds. */
static VALUE store_lease(VALUE self, VALUE key, VALUE lease, VALUE early) {
  struct cache *cache = cache_of(self);
  larder_leased leased;
  memset(&leased, 0, sizeof leased);
  struct call call = {.cache = cache, .run = run_lease, .leased = &leased};
  int64_t lease_ms = ttl_of(lease), early_ms = ttl_of(early);
  if (lease_ms < 0 || early_ms < 0) rb_raise(rb_eArgError, "lease and early are seconds; nil is no time");
  call.number = lease_ms;
  call.early_ms = early_ms;
  key = key_of(key, cache->waits);
  call.key = RSTRING_PTR(key);
  call.key_len = RSTRING_LEN(key);
  perform(&call);
  RB_GC_GUARD(key);
  return finish(&call, make_leased);
}

/* The token of a lease. */
static larder_token token_of(VALUE bytes) {
  larder_token token;
  Check_Type(bytes, T_STRING);
  if (RSTRING_LEN(bytes) != sizeof token.bytes) {
    rb_raise(rb_eArgError, "a token has %ld bytes; it has %zu", RSTRING_LEN(bytes), sizeof token.bytes);
  }
  memcpy(token.bytes, RSTRING_PTR(bytes), sizeof token.bytes);
  return token;
}

static int32_t run_fill(struct call *it) {
  return library.fill(it->session, it->key, it->key_len, it->value, it->value_len, it->ttl_ms, it->flags, it->token,
                      NULL);
}

/* Stores a loaded value; whether the token was still good. */
static VALUE store_fill(VALUE self, VALUE key, VALUE value, VALUE ttl, VALUE token) {
  struct cache *cache = cache_of(self);
  larder_token shown = token_of(token);
  struct stored stored = stored_of(value, cache->serializer, cache->waits);
  struct call call = {.cache = cache, .run = run_fill, .token = &shown, .flags = stored.flags, .ttl_ms = ttl_of(ttl)};
  call.value = RSTRING_PTR(stored.string);
  call.value_len = RSTRING_LEN(stored.string);
  key = key_of(key, cache->waits);
  call.key = RSTRING_PTR(key);
  call.key_len = RSTRING_LEN(key);
  perform(&call);
  RB_GC_GUARD(key);
  RB_GC_GUARD(stored.string);
  done(&call);
  return call.code == LARDER_OK ? Qtrue : Qfalse;
}

static int32_t run_release(struct call *it) {
  return library.release(it->session, it->key, it->key_len, it->token);
}

/* Ends a lease without a value, so that the next caller loads. */
static VALUE store_release(VALUE self, VALUE key, VALUE token) {
  struct cache *cache = cache_of(self);
  larder_token shown = token_of(token);
  struct call call = {.cache = cache, .run = run_release, .token = &shown};
  key = key_of(key, cache->waits);
  call.key = RSTRING_PTR(key);
  call.key_len = RSTRING_LEN(key);
  perform(&call);
  RB_GC_GUARD(key);
  done(&call);
  return call.code == LARDER_OK ? Qtrue : Qfalse;
}

void define_leases(VALUE store) {
  rb_define_private_method(store, "_lease", store_lease, 3);
  rb_define_private_method(store, "_fill", store_fill, 4);
  rb_define_private_method(store, "_release", store_release, 2);
}
