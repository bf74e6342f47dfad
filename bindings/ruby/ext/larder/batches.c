/* Calls on many keys. */
#include "cache.h"
#include "library.h"
#include "methods.h"
#include "values.h"

/*
 * The bytes of keys. `held` gets their Strings. It lies where Ruby's collector looks for references of C, so it neither frees
 * nor moves them; it would move those of an Array. Without `volatile` the compiler might leave the stores out.
 */
static void keys_of(VALUE keys, long n, int stable, larder_bytes *bytes, volatile VALUE *held) {
  for (long i = 0; i < n; i++) {
    held[i] = key_of(rb_ary_entry(keys, i), stable);
    bytes[i] = (larder_bytes){RSTRING_PTR(held[i]), RSTRING_LEN(held[i])};
  }
}

static int32_t run_get_many(struct call *it) {
  return library.get_many(it->session, it->keys, it->count, it->entries);
}

/* The values that were found, each behind the place of its key: the places and the values take turns. */
static VALUE make_found(struct call *it) {
  VALUE found = rb_ary_new();
  for (size_t i = 0; i < it->count; i++) {
    const larder_entry *entry = &it->entries[i];
    if (entry->code != LARDER_OK) continue;
    rb_ary_push(found, SIZET2NUM(i));
    rb_ary_push(found, value_of(entry->value.data, entry->value.len, entry->meta.flags, it->cache->serializer));
  }
  return found;
}

static VALUE store_get_many(VALUE self, VALUE keys) {
  struct cache *cache = cache_of(self);
  Check_Type(keys, T_ARRAY);
  long n = RARRAY_LEN(keys);
  VALUE held_room, bytes_room, entries_room;
  volatile VALUE *held = ALLOCV_N(VALUE, held_room, n);
  larder_bytes *bytes = ALLOCV_N(larder_bytes, bytes_room, n);
  larder_entry *entries = ALLOCV_N(larder_entry, entries_room, n);
  keys_of(keys, n, cache->waits, bytes, held);
  struct call call = {.cache = cache, .run = run_get_many, .keys = bytes, .count = n, .entries = entries};
  perform(&call);
  VALUE found = finish(&call, make_found);
  ALLOCV_END(held_room);
  ALLOCV_END(bytes_room);
  ALLOCV_END(entries_room);
  return found;
}

/* Codes of entries are outcomes, so that those of a batch that has failed can be told from refused entries. */
static int32_t run_set_many(struct call *it) {
  int32_t code = library.set_many(it->session, it->puts, it->count, it->outcomes);
  for (size_t i = 0; i < it->count; i++) {
    if (it->outcomes[i].code == LARDER_E_NO_ANSWER) return code;
  }
  return LARDER_OK;
}

/*
 * Stores values; the places of those that were refused. A serializer's Ruby code runs between the Strings of a batch, and may
 * change them or let other threads do so. So all of them are held stable, also where no call waits.
 */
static VALUE store_set_many(VALUE self, VALUE keys, VALUE values, VALUE ttl) {
  struct cache *cache = cache_of(self);
  Check_Type(keys, T_ARRAY);
  Check_Type(values, T_ARRAY);
  long n = RARRAY_LEN(keys);
  int64_t ttl_ms = ttl_of(ttl);
  VALUE held_room, bytes_room, puts_room, outcomes_room;
  volatile VALUE *held = ALLOCV_N(VALUE, held_room, 2 * n);
  larder_bytes *bytes = ALLOCV_N(larder_bytes, bytes_room, n);
  larder_put *puts = ALLOCV_N(larder_put, puts_room, n);
  larder_outcome *outcomes = ALLOCV_N(larder_outcome, outcomes_room, n);
  keys_of(keys, n, 1, bytes, held);
  for (long i = 0; i < n; i++) {
    struct stored stored = stored_of(rb_ary_entry(values, i), cache->serializer, 1);
    held[n + i] = stored.string;
    puts[i] = (larder_put){.key = bytes[i],
                           .value = {RSTRING_PTR(stored.string), RSTRING_LEN(stored.string)},
                           .ttl_ms = ttl_ms,
                           .flags = stored.flags,
                           .mode = LARDER_SET};
  }
  struct call call = {.cache = cache, .run = run_set_many, .puts = puts, .count = n, .outcomes = outcomes};
  perform(&call);
  done(&call);
  VALUE refused = rb_ary_new();
  for (long i = 0; i < n; i++) {
    if (outcomes[i].code != LARDER_OK) rb_ary_push(refused, LONG2NUM(i));
  }
  ALLOCV_END(held_room);
  ALLOCV_END(bytes_room);
  ALLOCV_END(puts_room);
  ALLOCV_END(outcomes_room);
  return refused;
}

static int32_t run_delete_many(struct call *it) {
  return library.delete_many(it->session, it->keys, it->count, it->codes);
}

/* Removes keys; the number of those that were there. */
static VALUE store_delete_many(VALUE self, VALUE keys) {
  struct cache *cache = cache_of(self);
  Check_Type(keys, T_ARRAY);
  long n = RARRAY_LEN(keys), n_there = 0;
  VALUE held_room, bytes_room, codes_room;
  volatile VALUE *held = ALLOCV_N(VALUE, held_room, n);
  larder_bytes *bytes = ALLOCV_N(larder_bytes, bytes_room, n);
  int32_t *codes = ALLOCV_N(int32_t, codes_room, n);
  keys_of(keys, n, cache->waits, bytes, held);
  struct call call = {.cache = cache, .run = run_delete_many, .keys = bytes, .count = n, .codes = codes};
  perform(&call);
  done(&call);
  for (long i = 0; i < n; i++) n_there += codes[i] == LARDER_OK;
  ALLOCV_END(held_room);
  ALLOCV_END(bytes_room);
  ALLOCV_END(codes_room);
  return LONG2NUM(n_there);
}

void define_batches(VALUE store) {
  rb_define_private_method(store, "_get_many", store_get_many, 1);
  rb_define_private_method(store, "_set_many", store_set_many, 3);
  rb_define_private_method(store, "_delete_many", store_delete_many, 1);
}
