/* Uses a shared cache until its input ends; run.py says what each worker does. */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <larder.h>

enum { KEYS = 1000, LONGEST = 2000, ROOM = LONGEST + 16 };

static uint64_t state;

/* A random number below `limit`: xorshift64. */
static unsigned draw(unsigned limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state % limit);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Goes on with a CRC-32 as zlib computes it. */
static uint32_t crc32_of(uint32_t crc, const char *bytes, size_t length) {
  crc = ~crc;
  for (size_t i = 0; i < length; i++) {
    crc ^= (unsigned char)bytes[i];
    for (int bit = 0; bit < 8; bit++)
      crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

static void fail(const char *what, const char *said) {
  fprintf(stderr, "%s: %s\n", what, said);
  exit(1);
}

/* The calls that did not wait any longer for a lock. */
static unsigned long busy;

/* Ends the program where a call has failed. */
static int32_t done(larder_session *session, const char *what, int32_t code) {
  if (code == LARDER_E_BUSY) busy++;
  else if (code < 0) fail(what, larder_message(session));
  return code;
}

/* Reads the key, and checks its value; whether it was there. */
static int get(larder_session *session, const char *key) {
  char value[ROOM], sum[9];
  size_t length, at;
  int32_t code = larder_get(session, key, strlen(key), value, sizeof value, &length, NULL);
  done(session, "get", code);
  if (code == LARDER_NOT_FOUND || code == LARDER_E_BUSY) return 0;
  if (code != LARDER_OK || length < 9 || value[at = length - 9] != ':') fail("wrong value", key);
  uint32_t crc = crc32_of(crc32_of(0, key, strlen(key)), value, at);
  snprintf(sum, sizeof sum, "%08" PRIx32, crc);
  if (memcmp(sum, value + at + 1, 8) != 0) fail("wrong value", key);
  return 1;
}

static void set(larder_session *session, const char *key) {
  char value[ROOM];
  size_t length = draw(LONGEST);
  memset(value, 'a' + (int)draw(10), length);
  uint32_t crc = crc32_of(crc32_of(0, key, strlen(key)), value, length);
  snprintf(value + length, 10, ":%08" PRIx32, crc);
  done(session, "set", larder_set(session, key, strlen(key), value, length + 9, LARDER_FOREVER, 0, NULL));
}

static void count(larder_session *session) {
  char key[32];
  uint64_t number = 0;
  larder_initial absent = {1, LARDER_FOREVER};
  snprintf(key, sizeof key, "number:%u", draw(10));
  int32_t code = larder_incr(session, key, strlen(key), 1, &absent, &number);
  if (done(session, "incr", code) == LARDER_OK && number < 1) fail("wrong number", key);
}

int main(int argc, char **argv) {
  char message[256], key[32];
  larder_store *store;
  larder_session *session;
  if (argc != 3) fail("usage", "worker URL SEED");
  state = strtoull(argv[2], NULL, 10) * 2654435761u + 1;
  if (larder_open(argv[1], &store, message, sizeof message) != LARDER_OK) fail("open", message);
  if (larder_session_open(store, &session, message, sizeof message) != LARDER_OK) fail("session", message);
  unsigned long calls = 0, hits = 0;
  double slowest = 0, told = now();
  for (;;) {
    unsigned part = draw(100);
    snprintf(key, sizeof key, "key:%u", draw(KEYS));
    double began = now();
    if (part < 60) hits += (unsigned long)get(session, key);
    else if (part < 90) set(session, key);
    else if (part < 95) done(session, "delete", larder_delete(session, key, strlen(key)));
    else count(session);
    double after = now();
    if (after - began > slowest) slowest = after - began;
    calls++;
    if (after - told > 0.2) {
      struct pollfd input = {0, POLLIN, 0};
      printf("%lu %lu %d %lu\n", calls, hits, (int)(1000 * slowest), busy);
      fflush(stdout);
      if (poll(&input, 1, 0) != 0) break;
      told = after;
    }
  }
  larder_session_close(session);
  return larder_close(store, message, sizeof message) == LARDER_OK ? 0 : 1;
}
