/* Leases: one caller of all processes loads a key. lib/larder/loading.rb uses these. */
#include <string.h>

#include "cache.h"
#include "library.h"
#include "methods.h"
#include "values.h"

static int32_t run_lease(struct call *it) {
  return library.get_or_lease(it->session, it->key, it->key_len, it->number, it->early_ms, it->leased);
}

/* An answer, and the Array of the caller that gets it. */
struct asking {
  struct call call;
  VALUE told;
};

static VALUE read_leased(VALUE call) {
  struct call *it = (struct call *)call;
  const larder_leased *leased = it->leased;
  return value_of(leased->value.data, leased->value.len, leased->meta.flags, it->cache->serializer);
}

static VALUE nothing(VALUE call, VALUE error) { return Qundef; }

/*
 * `:value` and the value, `:load` and a token, or `:wait`; an older value follows these two where there is one. No Ruby code
 * runs between the library's call and the token, so nothing can come between. A loader does without a value that cannot be read.
 */
static VALUE make_leased(struct call *it) {
  VALUE told = ((struct asking *)it)->told;
  const larder_leased *leased = it->leased;
  if (leased->code == LARDER_LOAD) {
    VALUE token = rb_str_new((const char *)leased->token.bytes, sizeof leased->token.bytes);
    rb_ary_push(told, ID2SYM(rb_intern("load")));
    rb_ary_push(told, token);
    if (!leased->meta.stale) return told;
    VALUE older = rb_rescue2(read_leased, (VALUE)it, nothing, Qnil, rb_eStandardError, (VALUE)0);
    return older == Qundef ? told : rb_ary_push(told, older);
  }
  if (leased->code == LARDER_WAIT && !leased->meta.stale) return rb_ary_push(told, ID2SYM(rb_intern("wait")));
  VALUE value = read_leased((VALUE)it);
  rb_ary_push(told, ID2SYM(rb_intern(leased->code == LARDER_OK ? "value" : "wait")));
  return rb_ary_push(told, value);
}

/* Reads a key, or takes the lease on it, and pushes the answer to `told`, which is empty. Times are in seconds. */
static VALUE store_lease(VALUE self, VALUE told, VALUE key, VALUE lease, VALUE early) {
  struct cache *cache = cache_of(self);
  larder_leased leased;
  memset(&leased, 0, sizeof leased);
  Check_Type(told, T_ARRAY);
  struct asking asking = {.call = {.cache = cache, .run = run_lease, .leased = &leased}, .told = told};
  struct call *call = &asking.call;
  call->number = time_of(lease, "lease");
  call->early_ms = time_of(early, "early");
  key = key_of(key, cache->waits);
  call->key = RSTRING_PTR(key);
  call->key_len = RSTRING_LEN(key);
  perform(call);
  RB_GC_GUARD(key);
  finish(call, make_leased);
  return Qnil;
}

/* Refuses times that #get_or_load could not use in the end, before its block works. */
static VALUE store_check_times(VALUE self, VALUE ttl, VALUE wait) {
  ttl_of(ttl);
  time_of(wait, "wait");
  return Qnil;
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
  rb_define_private_method(store, "_check_times", store_check_times, 2);
  rb_define_private_method(store, "_lease", store_lease, 4);
  rb_define_private_method(store, "_fill", store_fill, 4);
  rb_define_private_method(store, "_release", store_release, 2);
}
