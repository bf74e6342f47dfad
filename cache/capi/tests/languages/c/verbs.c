/*
 * Every function of larder.h on the store of a URL: verbs URL KIND. The kind is `own` (of this process), `server` (others may
 * use it, so a clear is refused) or `stack` (which also has no versions).
 */

#include "check.h"

static larder_session *s;
static int clears, has_versions;

static void values(void) {
  char value[8];
  size_t len;
  larder_meta meta;
  IS(s, LARDER_NOT_FOUND, larder_get(s, TEXT("absent"), value, sizeof value, &len, &meta));
  CHECK(len == 0, "a miss has no length");
  IS(s, LARDER_OK, larder_set(s, TEXT("key"), TEXT("value"), LARDER_FOREVER, 7, NULL));
  IS(s, LARDER_OK, larder_get(s, TEXT("key"), value, sizeof value, &len, &meta));
  CHECK(len == 5 && memcmp(value, "value", 5) == 0, "the value comes back");
  CHECK(meta.flags == 7 && meta.stale == 0, "the metadata comes back");

  /* A buffer that is too small stays as it was, and the session has the value. */
  memset(value, '-', sizeof value);
  IS(s, LARDER_TOO_SMALL, larder_get(s, TEXT("key"), value, 4, &len, NULL));
  CHECK(len == 5 && value[0] == '-', "the needed length");
  CHECK(memcmp(larder_value(s, &len), "value", 5) == 0 && len == 5, "the value of the session");
  IS(s, LARDER_TOO_SMALL, larder_get(s, TEXT("key"), NULL, 0, NULL, NULL));
  IS(s, LARDER_OK, larder_set(s, TEXT("empty"), NULL, 0, LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_OK, larder_get(s, TEXT("empty"), NULL, 0, &len, NULL));
  CHECK(len == 0, "an empty value");

  larder_reader reader = {s, value, sizeof value, 0, {0}};
  IS(s, LARDER_OK, larder_read(&reader, TEXT("key")));
  CHECK(reader.value_len == 5 && memcmp(value, "value", 5) == 0, "the value in the reader's place");
  CHECK(reader.meta.flags == 7 && reader.meta.stale == 0, "its metadata");
  IS(s, LARDER_NOT_FOUND, larder_read(&reader, TEXT("absent")));
  CHECK(reader.value_len == 0, "a miss has no length");
  reader.capacity = 4;
  IS(s, LARDER_TOO_SMALL, larder_read(&reader, TEXT("key")));
  CHECK(reader.value_len == 5 && memcmp(larder_value(s, NULL), "value", 5) == 0, "the value of the session");

  IS(s, LARDER_NOT_STORED, larder_add(s, TEXT("key"), TEXT("other"), LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_OK, larder_add(s, TEXT("added"), TEXT("1"), LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_NOT_STORED, larder_replace(s, TEXT("absent"), TEXT("1"), LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_OK, larder_replace(s, TEXT("key"), TEXT("b"), LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_OK, larder_append(s, TEXT("key"), TEXT("c"), NULL));
  IS(s, LARDER_OK, larder_prepend(s, TEXT("key"), TEXT("a"), NULL));
  CHECK(holds(s, "key", "abc"), "put together");
  IS(s, LARDER_NOT_STORED, larder_append(s, TEXT("absent"), TEXT("c"), NULL));
  IS(s, LARDER_NOT_STORED, larder_prepend(s, TEXT("absent"), TEXT("c"), NULL));
  IS(s, LARDER_OK, larder_delete(s, TEXT("key")));
  IS(s, LARDER_OK, larder_delete(s, TEXT("added")));
  IS(s, LARDER_NOT_FOUND, larder_delete(s, TEXT("added")));
}

static void versions(void) {
  uint64_t first = 0, second = 0;
  larder_meta meta;
  IS(s, LARDER_OK, larder_set(s, TEXT("key"), TEXT("value"), LARDER_FOREVER, 0, &first));
  if (!has_versions) {
    CHECK(first == LARDER_UNKNOWN, "no version");
    IS(s, LARDER_E_UNSUPPORTED, larder_cas(s, TEXT("key"), TEXT("no"), LARDER_FOREVER, 0, 1, NULL));
    IS(s, LARDER_E_UNSUPPORTED, larder_delete_if(s, TEXT("key"), 1));
    return;
  }
  IS(s, LARDER_TOO_SMALL, larder_get(s, TEXT("key"), NULL, 0, NULL, &meta));
  CHECK(meta.version == first && first != LARDER_UNKNOWN, "the version of a set");
  IS(s, LARDER_OK, larder_append(s, TEXT("key"), TEXT("!"), &second));
  CHECK(first != second, "a change makes a version");
  IS(s, LARDER_EXISTS, larder_cas(s, TEXT("key"), TEXT("no"), LARDER_FOREVER, 0, first, NULL));
  IS(s, LARDER_NOT_FOUND, larder_cas(s, TEXT("absent"), TEXT("no"), LARDER_FOREVER, 0, first, NULL));
  IS(s, LARDER_OK, larder_cas(s, TEXT("key"), TEXT("newer"), LARDER_FOREVER, 0, second, &first));
  CHECK(first != second && holds(s, "key", "newer"), "a new version");
  IS(s, LARDER_EXISTS, larder_delete_if(s, TEXT("key"), second));
  IS(s, LARDER_OK, larder_delete_if(s, TEXT("key"), first));
  IS(s, LARDER_NOT_FOUND, larder_delete_if(s, TEXT("key"), first));
}

/* Whether this is the rest of a TTL that has just begun. A stack whose L1 keeps values for a shorter time does not know it. */
static int is_about(int64_t rest_ms, int64_t ttl_ms) {
  if (!has_versions) return rest_ms == LARDER_TTL_UNKNOWN;
  return rest_ms > ttl_ms / 2 && rest_ms <= ttl_ms + 1000;
}

static void times(void) {
  char value[8];
  size_t len;
  larder_meta meta;
  IS(s, LARDER_OK, larder_set(s, TEXT("timed"), TEXT("value"), 600000, 0, NULL));
  IS(s, LARDER_OK, larder_get(s, TEXT("timed"), value, sizeof value, &len, &meta));
  CHECK(is_about(meta.ttl_ms, 600000), "the rest of the TTL");
  IS(s, LARDER_OK, larder_touch(s, TEXT("timed"), LARDER_FOREVER));
  IS(s, LARDER_NOT_FOUND, larder_touch(s, TEXT("absent"), 1000));
  IS(s, LARDER_OK, larder_get_and_touch(s, TEXT("timed"), 60000, value, sizeof value, &len, &meta));
  CHECK(len == 5 && memcmp(value, "value", 5) == 0, "the value with its new TTL");
  IS(s, LARDER_NOT_FOUND, larder_get_and_touch(s, TEXT("absent"), 60000, value, sizeof value, &len, NULL));
  IS(s, LARDER_OK, larder_get(s, TEXT("timed"), value, sizeof value, &len, &meta));
  CHECK(is_about(meta.ttl_ms, 60000), "the new TTL");
  IS(s, LARDER_OK, larder_set(s, TEXT("timed"), TEXT("value"), 0, 0, NULL));
  IS(s, LARDER_NOT_FOUND, larder_get(s, TEXT("timed"), value, sizeof value, &len, NULL));
}

static void numbers(void) {
  uint64_t number = 0;
  larder_initial initial = {40, LARDER_FOREVER};
  IS(s, LARDER_NOT_FOUND, larder_incr(s, TEXT("n"), 1, NULL, &number));
  IS(s, LARDER_OK, larder_incr(s, TEXT("n"), 5, &initial, &number));
  CHECK(number == 40, "the initial number");
  IS(s, LARDER_OK, larder_incr(s, TEXT("n"), 5, &initial, &number));
  CHECK(number == 45, "counted up");
  IS(s, LARDER_OK, larder_decr(s, TEXT("n"), 3, NULL, &number));
  CHECK(number == 42, "counted down");
  IS(s, LARDER_OK, larder_decr(s, TEXT("n"), 100, NULL, NULL));
  CHECK(holds(s, "n", "0") || holds(s, "n", "0 "), "it stops at 0; memcached keeps the length");
  IS(s, LARDER_OK, larder_set(s, TEXT("n"), TEXT("word"), LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_E_NOT_A_NUMBER, larder_incr(s, TEXT("n"), 1, NULL, &number));
  IS(s, LARDER_OK, larder_delete(s, TEXT("n")));
}

static void batches(void) {
  larder_bytes keys[3] = {bytes("a"), bytes("absent"), bytes("b")};
  larder_put puts[3] = {
      {bytes("a"), bytes("of a"), LARDER_FOREVER, 0, 1, LARDER_SET},
      {bytes("a"), bytes("no"), LARDER_FOREVER, 0, 0, LARDER_ADD},
      {bytes("b"), bytes("of b"), LARDER_FOREVER, 0, 2, LARDER_SET},
  };
  larder_outcome outcomes[3];
  larder_entry entries[3];
  int32_t codes[3];
  IS(s, LARDER_OK, larder_set_many(s, puts, 3, outcomes));
  CHECK(outcomes[0].code == LARDER_OK && outcomes[1].code == LARDER_NOT_STORED, "each outcome");
  CHECK(outcomes[2].code == LARDER_OK, "the last outcome");
  CHECK((outcomes[2].version != LARDER_UNKNOWN) == has_versions, "with its version");
  IS(s, LARDER_OK, larder_get_many(s, keys, 3, entries));
  CHECK(entries[0].code == LARDER_OK && entries[1].code == LARDER_NOT_FOUND, "each answer");
  CHECK(entries[0].value.len == 4 && memcmp(entries[0].value.data, "of a", 4) == 0, "the first value");
  CHECK(entries[2].value.len == 4 && memcmp(entries[2].value.data, "of b", 4) == 0, "the last value");
  CHECK(entries[0].meta.flags == 1 && entries[2].meta.flags == 2, "the metadata");
  IS(s, LARDER_OK, larder_get_many(s, NULL, 0, NULL));

  /* An entry that is refused keeps no other out. */
  static char long_key[1000];
  memset(long_key, 'k', sizeof long_key);
  puts[1].key.data = long_key;
  puts[1].key.len = sizeof long_key;
  IS(s, LARDER_E_KEY_TOO_LONG, larder_set_many(s, puts, 3, outcomes));
  CHECK(outcomes[1].code == LARDER_E_KEY_TOO_LONG && outcomes[2].code == LARDER_OK, "the others");
  puts[1].mode = 9;
  IS(s, LARDER_E_ARGUMENT, larder_set_many(s, puts, 3, outcomes));
  CHECK(outcomes[0].code == LARDER_E_NO_ANSWER, "nothing was done");

  IS(s, LARDER_OK, larder_delete_many(s, keys, 3, codes));
  CHECK(codes[0] == LARDER_OK && codes[1] == LARDER_NOT_FOUND && codes[2] == LARDER_OK, "each removal");
}

static void leases(void) {
  larder_leased leased, again;
  IS(s, LARDER_LOAD, larder_get_or_lease(s, TEXT("loaded"), 10000, 0, &leased));
  CHECK(leased.meta.stale == 0 && leased.value.len == 0, "no older value");
  IS(s, LARDER_WAIT, larder_get_or_lease(s, TEXT("loaded"), 10000, 0, &again));
  IS(s, LARDER_OK, larder_release(s, TEXT("loaded"), &leased.token));
  IS(s, LARDER_NOT_FOUND, larder_release(s, TEXT("loaded"), &leased.token));
  IS(s, LARDER_LOAD, larder_get_or_lease(s, TEXT("loaded"), 10000, 0, &again));
  IS(s, LARDER_NOT_STORED, larder_fill(s, TEXT("loaded"), TEXT("no"), LARDER_FOREVER, 0, &leased.token, NULL));
  IS(s, LARDER_OK, larder_fill(s, TEXT("loaded"), TEXT("value"), LARDER_FOREVER, 3, &again.token, NULL));
  IS(s, LARDER_OK, larder_get_or_lease(s, TEXT("loaded"), 10000, 0, &leased));
  CHECK(leased.value.len == 5 && memcmp(leased.value.data, "value", 5) == 0, "the loaded value");
  CHECK(leased.meta.flags == 3 && leased.meta.stale == 0, "it is fresh");

  IS(s, LARDER_OK, larder_expire(s, TEXT("loaded"), 600000));
  IS(s, LARDER_NOT_FOUND, larder_expire(s, TEXT("absent"), LARDER_FOREVER));
  IS(s, LARDER_LOAD, larder_get_or_lease(s, TEXT("loaded"), 10000, 0, &leased));
  CHECK(leased.meta.stale == 1 && leased.value.len == 5, "the older value");
  IS(s, LARDER_WAIT, larder_get_or_lease(s, TEXT("loaded"), 10000, 0, &again));
  CHECK(again.meta.stale == 1 && memcmp(again.value.data, "value", 5) == 0, "the older value too");

  larder_bytes keys[2] = {bytes("many"), bytes("loaded")};
  larder_leased many[2];
  larder_outcome outcomes[2];
  IS(s, LARDER_OK, larder_get_or_lease_many(s, keys, 2, 10000, 0, many));
  CHECK(many[0].code == LARDER_LOAD && many[1].code == LARDER_WAIT, "each answer");
  CHECK(many[1].value.len == 5 && memcmp(many[1].value.data, "value", 5) == 0, "with its value");
  larder_put fills[2] = {
      {keys[0], bytes("one"), LARDER_FOREVER, 0, 0, LARDER_SET},
      {keys[1], bytes("two"), LARDER_FOREVER, 0, 0, LARDER_SET},
  };
  larder_token tokens[2] = {many[0].token, leased.token};
  IS(s, LARDER_OK, larder_fill_many(s, fills, tokens, 2, outcomes));
  CHECK(outcomes[0].code == LARDER_OK && outcomes[1].code == LARDER_OK, "each fill");
  CHECK(holds(s, "many", "one") && holds(s, "loaded", "two"), "the filled values");
  fills[0].mode = LARDER_ADD;
  IS(s, LARDER_E_ARGUMENT, larder_fill_many(s, fills, tokens, 2, outcomes));
  IS(s, LARDER_OK, larder_delete(s, TEXT("many")));
  IS(s, LARDER_OK, larder_delete(s, TEXT("loaded")));
}

static void refusals(const larder_store *store) {
  static char large[8 << 20];
  char message[64], key[1000];
  larder_store *none = (larder_store *)1;
  larder_session *no_session = NULL;
  larder_leased leased;
  size_t len = 1;
  memset(key, 'k', sizeof key);
  IS(s, LARDER_E_KEY_TOO_LONG, larder_set(s, key, sizeof key, TEXT("value"), LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_E_VALUE_TOO_LARGE,
     larder_set(s, TEXT("large"), large, sizeof large, LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_set(s, NULL, 3, TEXT("value"), LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_set(s, TEXT("key"), NULL, 3, LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_set(s, TEXT("key"), TEXT("value"), -3, 0, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_get(s, "key", SIZE_MAX, key, sizeof key, &len, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_get_many(s, NULL, 2, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_get_or_lease(s, TEXT("key"), 1000, 0, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_fill(s, TEXT("key"), TEXT("value"), 1000, 0, NULL, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_release(s, TEXT("key"), NULL));
  IS(s, LARDER_OK, larder_set(s, TEXT("key"), TEXT("value"), LARDER_FOREVER, 0, NULL));
  IS(s, LARDER_E_ARGUMENT, larder_get(s, TEXT("key"), NULL, 10, &len, NULL));
  IS(s, LARDER_OK, larder_delete(s, TEXT("key")));

  CHECK(larder_get(NULL, TEXT("key"), NULL, 0, NULL, NULL) == LARDER_E_ARGUMENT, "no session");
  CHECK(larder_read(NULL, TEXT("key")) == LARDER_E_ARGUMENT, "no reader");
  CHECK(larder_get_or_lease(NULL, TEXT("key"), 1, 0, &leased) == LARDER_E_ARGUMENT, "no session");
  CHECK(strstr(larder_message(NULL), "null") != NULL, larder_message(NULL));
  CHECK(larder_value(NULL, &len) == NULL && len == 0, "no session, no value");
  larder_session_close(NULL);
  CHECK(larder_close(NULL, NULL, 0) == LARDER_OK, "no store to close");

  CHECK(larder_open("no-such:", &none, message, sizeof message) == LARDER_E_UNKNOWN_SCHEME, message);
  CHECK(none == NULL && strstr(message, "no-such") != NULL, message);
  CHECK(strlen(message) == sizeof message - 1, "a long message is cut");
  CHECK(larder_open("memory:?size=nothing", &none, NULL, 0) == LARDER_E_INVALID_OPTIONS, "the option");
  CHECK(larder_open("no url", &none, message, sizeof message) == LARDER_E_INVALID_URL, message);
  CHECK(larder_open("memory:?\xff", &none, message, sizeof message) == LARDER_E_ARGUMENT, message);
  CHECK(larder_open(NULL, &none, message, 1) == LARDER_E_ARGUMENT && message[0] == 0, "no URL");
  CHECK(larder_open("memory:", NULL, message, sizeof message) == LARDER_E_ARGUMENT, message);
  CHECK(larder_session_open(NULL, &no_session, message, sizeof message) == LARDER_E_ARGUMENT, message);
  CHECK(larder_session_open(store, NULL, message, sizeof message) == LARDER_E_ARGUMENT, message);
  CHECK(larder_store_stats(store, NULL, 8, message, sizeof message) == LARDER_E_ARGUMENT, message);
}

static void counters(const larder_store *store) {
  larder_stats stats;
  char message[128];
  uint64_t longer[32], hits;
  CHECK(larder_store_stats(store, &stats, sizeof stats, message, sizeof message) == LARDER_OK, message);
  CHECK(stats.hits > 0 && stats.hits != LARDER_UNKNOWN, "hits were counted");
  CHECK(stats.misses > 0 && stats.misses != LARDER_UNKNOWN, "misses were counted");
  CHECK(stats.capacity_bytes > 0, "the capacity");
  /* An older program has a shorter structure, and a newer one a longer. */
  memset(longer, 0, sizeof longer);
  CHECK(larder_store_stats(store, (larder_stats *)longer, sizeof longer, NULL, 0) == LARDER_OK, "longer");
  CHECK(longer[0] == stats.hits && longer[31] == LARDER_UNKNOWN, "the rest is not known");
  hits = 0;
  CHECK(larder_store_stats(store, (larder_stats *)&hits, sizeof hits, NULL, 0) == LARDER_OK, "shorter");
  CHECK(hits == stats.hits, "the part that fits");
}

int main(int argc, char **argv) {
  CHECK(argc == 3, "verbs URL KIND");
  clears = strcmp(argv[2], "own") == 0;
  has_versions = strcmp(argv[2], "stack") != 0;
  larder_store *store = opened(argv[1]);
  s = session_of(store);
  CHECK(strchr(larder_version(), '.') != NULL, larder_version());
  values();
  versions();
  times();
  numbers();
  batches();
  leases();
  refusals(store);
  counters(store);
  IS(s, LARDER_OK, larder_set(s, TEXT("key"), TEXT("value"), LARDER_FOREVER, 0, NULL));
  IS(s, clears ? LARDER_OK : LARDER_E_UNSUPPORTED, larder_clear(s));
  CHECK(holds(s, "key", "value") == !clears, "a clear removes every entry");
  larder_session_close(s);
  closed(store);
  return 0;
}
