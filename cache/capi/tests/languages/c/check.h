/* What the programs of the tests share: a check that names its place, and keys and values as text. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larder.h>

/* The arguments of a key or a value: its bytes, and their number. */
#define TEXT(text) (text), strlen(text)

/* Ends the program unless a condition holds. */
#define CHECK(condition, said)                                                                       \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, said);                      \
      abort();                                                                                       \
    }                                                                                                \
  } while (0)

/* Ends the program unless a call of a session returns this code. */
#define IS(session, code, call)                                                                      \
  do {                                                                                               \
    int32_t returned = (call);                                                                       \
    if (returned != (code)) {                                                                        \
      fprintf(stderr, "%s:%d: %s is %d: %s\n", __FILE__, __LINE__, #call, returned,                  \
              larder_message(session));                                                              \
      abort();                                                                                       \
    }                                                                                                \
    CHECK((larder_message(session)[0] != 0) == (returned < 0), larder_message(session));             \
  } while (0)

static inline larder_store *opened(const char *url) {
  char message[256];
  larder_store *store;
  CHECK(larder_open(url, &store, message, sizeof message) == LARDER_OK, message);
  CHECK(message[0] == 0, message);
  return store;
}

static inline larder_session *session_of(const larder_store *store) {
  char message[256];
  larder_session *session;
  CHECK(larder_session_open(store, &session, message, sizeof message) == LARDER_OK, message);
  return session;
}

static inline void closed(larder_store *store) {
  char message[256];
  CHECK(larder_close(store, message, sizeof message) == LARDER_OK, message);
}

static inline larder_bytes bytes(const char *text) {
  larder_bytes bytes = {text, strlen(text)};
  return bytes;
}

/* Whether the key has this value. */
static inline int holds(larder_session *session, const char *key, const char *value) {
  char found[256];
  size_t len = 0;
  int32_t code = larder_get(session, TEXT(key), found, sizeof found, &len, NULL);
  return code == LARDER_OK && len == strlen(value) && memcmp(found, value, len) == 0;
}

#endif
