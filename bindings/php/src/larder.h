#define FFI_SCOPE "larder"
#define FFI_LIB "liblarder.so.0.2"

typedef struct larder_store larder_store;
typedef struct larder_session larder_session;
typedef struct larder_bytes {
  const void *data;
  size_t len;
} larder_bytes;
typedef struct larder_meta {
  uint64_t version;
  int64_t ttl_ms;
  uint32_t flags;
  uint32_t stale;
} larder_meta;
typedef struct larder_reader {
  larder_session *session;
  void *value;
  size_t capacity;
  size_t value_len;
  larder_meta meta;
} larder_reader;
typedef struct larder_entry {
  int32_t code;
  larder_bytes value;
  larder_meta meta;
} larder_entry;
typedef struct larder_put {
  larder_bytes key;
  larder_bytes value;
  int64_t ttl_ms;
  uint64_t version;
  uint32_t flags;
  uint32_t mode;
} larder_put;
typedef struct larder_outcome {
  int32_t code;
  uint64_t version;
} larder_outcome;
typedef struct larder_initial {
  uint64_t number;
  int64_t ttl_ms;
} larder_initial;
typedef struct larder_token {
  uint8_t bytes[32];
} larder_token;
typedef struct larder_leased {
  int32_t code;
  larder_bytes value;
  larder_meta meta;
  larder_token token;
} larder_leased;
typedef struct larder_stats {
  uint64_t hits;
  uint64_t misses;
  uint64_t sets;
  uint64_t deletes;
  uint64_t evictions;
  uint64_t expirations;
  uint64_t items;
  uint64_t bytes;
  uint64_t capacity_bytes;
  uint64_t connections;
  uint64_t requests_sent;
} larder_stats;
const char *larder_version(void);
int32_t larder_open(const char *url, larder_store **store, char *message, size_t message_size);
int32_t larder_session_open(const larder_store *store, larder_session **session, char *message, size_t message_size);
int32_t larder_open_kept(const char *url, larder_store **store, larder_session **session, char *message,
                         size_t message_size);
int32_t larder_store_stats(const larder_store *store, larder_stats *stats, size_t stats_size, char *message,
                           size_t message_size);
int32_t larder_close(larder_store *store, char *message, size_t message_size);
void larder_session_close(larder_session *session);
const char *larder_message(const larder_session *session);
const void *larder_value(const larder_session *session, size_t *value_len);
int32_t larder_get(larder_session *session, const void *key, size_t key_len, void *value, size_t capacity,
                   size_t *value_len, larder_meta *meta);
int32_t larder_read(larder_reader *reader, const void *key, size_t key_len);
int32_t larder_get_and_touch(larder_session *session, const void *key, size_t key_len, int64_t ttl_ms, void *value,
                             size_t capacity, size_t *value_len, larder_meta *meta);
int32_t larder_get_many(larder_session *session, const larder_bytes *keys, size_t count, larder_entry *entries);
int32_t larder_set(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                   int64_t ttl_ms, uint32_t flags, uint64_t *version);
int32_t larder_add(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                   int64_t ttl_ms, uint32_t flags, uint64_t *version);
int32_t larder_replace(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                       int64_t ttl_ms, uint32_t flags, uint64_t *version);
int32_t larder_cas(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                   int64_t ttl_ms, uint32_t flags, uint64_t expected, uint64_t *version);
int32_t larder_append(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                      uint64_t *version);
int32_t larder_prepend(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                       uint64_t *version);
int32_t larder_set_many(larder_session *session, const larder_put *entries, size_t count, larder_outcome *outcomes);
int32_t larder_incr(larder_session *session, const void *key, size_t key_len, uint64_t delta,
                    const larder_initial *absent, uint64_t *number);
int32_t larder_decr(larder_session *session, const void *key, size_t key_len, uint64_t delta,
                    const larder_initial *absent, uint64_t *number);
int32_t larder_touch(larder_session *session, const void *key, size_t key_len, int64_t ttl_ms);
int32_t larder_delete(larder_session *session, const void *key, size_t key_len);
int32_t larder_delete_if(larder_session *session, const void *key, size_t key_len, uint64_t version);
int32_t larder_delete_many(larder_session *session, const larder_bytes *keys, size_t count, int32_t *codes);
int32_t larder_clear(larder_session *session);
int32_t larder_get_or_lease(larder_session *session, const void *key, size_t key_len, uint64_t lease_ms,
                            uint64_t early_ms, larder_leased *leased);
int32_t larder_get_or_lease_many(larder_session *session, const larder_bytes *keys, size_t count, uint64_t lease_ms,
                                 uint64_t early_ms, larder_leased *entries);
int32_t larder_fill(larder_session *session, const void *key, size_t key_len, const void *value, size_t value_len,
                    int64_t ttl_ms, uint32_t flags, const larder_token *token, uint64_t *version);
int32_t larder_fill_many(larder_session *session, const larder_put *entries, const larder_token *tokens, size_t count,
                         larder_outcome *outcomes);
int32_t larder_release(larder_session *session, const void *key, size_t key_len, const larder_token *token);
int32_t larder_expire(larder_session *session, const void *key, size_t key_len, int64_t keep_ms);
