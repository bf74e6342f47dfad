/*
 * A thread keeps the stores that it opens: kept URL [alone]. Each later call has the same store, another thread its own session,
 * and a forked child its own store. With `alone` the program does not fork.
 */

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static larder_session *kept(const char *url, larder_store **store) {
  char message[256];
  larder_session *session;
  CHECK(larder_open_kept(url, store, &session, message, sizeof message) == LARDER_OK, message);
  CHECK(message[0] == 0, message);
  return session;
}

static void *in_a_thread(void *url) {
  larder_session *session = kept(url, NULL);
  CHECK(holds(session, "key", "value") && session == kept(url, NULL), "a thread keeps its own");
  return session;
}

/* What both processes of a fork do at once: an answer of the other process would be noticed. */
static void work(larder_session *session, const char *who) {
  for (int i = 0; i < 300; i++) {
    IS(session, LARDER_OK, larder_set(session, TEXT(who), TEXT(who), LARDER_FOREVER, 0, NULL));
    CHECK(holds(session, who, who), who);
  }
}

static void forks(const char *url, const larder_store *store, larder_session *session) {
  int status = -1;
  larder_store *again;
  pid_t forked = fork();
  CHECK(forked >= 0, "fork");
  if (forked == 0) {
    larder_session *own = kept(url, &again);
    CHECK(own != session && again != store, "a child opens its own");
    work(own, "child");
    exit(0);
  }
  work(session, "parent");
  CHECK(waitpid(forked, &status, 0) == forked && status == 0, "the child succeeds");
  work(session, "parent");
}

int main(int argc, char **argv) {
  char message[128];
  void *other;
  pthread_t thread;
  larder_store *store, *again;
  larder_stats stats;
  CHECK(argc == 2 || argc == 3, "kept URL [alone]");
  larder_session *session = kept(argv[1], &store);
  IS(session, LARDER_OK, larder_set(session, TEXT("key"), TEXT("value"), LARDER_FOREVER, 0, NULL));
  CHECK(kept(argv[1], &again) == session && again == store, "the same for each call");
  CHECK(kept("memory:?size=1m", &again) != session && again != store, "another URL is another store");
  CHECK(larder_store_stats(store, &stats, sizeof stats, message, sizeof message) == LARDER_OK, message);

  CHECK(pthread_create(&thread, NULL, in_a_thread, argv[1]) == 0, "pthread_create");
  CHECK(pthread_join(thread, &other) == 0 && other != session, "another thread");
  CHECK(holds(session, "key", "value"), "the thread has closed its own");

  if (argc == 2) forks(argv[1], store, session);
  CHECK(kept(argv[1], NULL) == session, "it is still kept");

  CHECK(larder_open_kept("no url", &store, &session, message, sizeof message) == LARDER_E_INVALID_URL, message);
  CHECK(store == NULL && session == NULL, "nothing was opened");
  CHECK(larder_open_kept(argv[1], &store, NULL, message, sizeof message) == LARDER_E_ARGUMENT, message);
  CHECK(larder_open_kept(NULL, NULL, &session, message, sizeof message) == LARDER_E_ARGUMENT, message);
  return 0;
}
