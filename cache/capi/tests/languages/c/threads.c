/* Threads that share a store, each with a session: threads URL. No number is lost, and no value is another thread's. */

#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 200 };

static larder_store *store;

static void *work(void *number) {
  char key[32], value[32];
  larder_initial initial = {1, LARDER_FOREVER};
  larder_session *session = session_of(store);
  snprintf(key, sizeof key, "of-%d", *(int *)number);
  for (int i = 0; i < ROUNDS; i++) {
    IS(session, LARDER_OK, larder_incr(session, TEXT("n"), 1, &initial, NULL));
    snprintf(value, sizeof value, "%d of %d", i, *(int *)number);
    IS(session, LARDER_OK, larder_set(session, TEXT(key), TEXT(value), LARDER_FOREVER, 0, NULL));
    CHECK(holds(session, key, value), value);
  }
  larder_session_close(session);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  char total[32];
  (void)argc;
  store = opened(argv[1]);
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0, "pthread_create");
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  larder_session *session = session_of(store);
  snprintf(total, sizeof total, "%d", THREADS * ROUNDS);
  CHECK(holds(session, "n", total), total);
  IS(session, LARDER_OK, larder_delete(session, TEXT("n")));
  /* A session may outlive its store. */
  closed(store);
  larder_session_close(session);
  return 0;
}
