/*
 * A process forks while it has stores open: fork FILE-URL SERVER-URL [keep]. Parent and child work at once, and the child
 * opens the server's store anew. With `keep` the child leaves the handles of its parent alone.
 */

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 300 };

static larder_store *file, *server;
static larder_session *of_file, *of_server;

/* Writes and reads values that name their writer: an answer of the other process would be noticed. */
static void work(larder_session *session, const char *who) {
  char key[32], value[64];
  for (int i = 0; i < ROUNDS; i++) {
    snprintf(key, sizeof key, "%s-%d", who, i % 10);
    snprintf(value, sizeof value, "value %d of the %s", i, who);
    IS(session, LARDER_OK, larder_set(session, TEXT(key), TEXT(value), LARDER_FOREVER, 0, NULL));
    CHECK(holds(session, key, value), value);
  }
}

static void child(const char *url, int keeps) {
  char value[64], message[128];
  size_t len;
  larder_session *none;
  larder_stats stats;
  CHECK(holds(of_file, "key", "of the parent"), "the file goes on in a child");
  IS(of_file, LARDER_OK, larder_set(of_file, TEXT("key"), TEXT("of the child"), LARDER_FOREVER, 0, NULL));
  IS(of_server, LARDER_E_FORKED, larder_get(of_server, TEXT("key"), value, sizeof value, &len, NULL));
  CHECK(strstr(larder_message(of_server), "open the store again") != NULL, larder_message(of_server));
  IS(of_server, LARDER_E_FORKED, larder_set(of_server, TEXT("key"), TEXT("no"), LARDER_FOREVER, 0, NULL));
  CHECK(larder_session_open(server, &none, message, sizeof message) == LARDER_E_FORKED, message);
  CHECK(larder_store_stats(server, &stats, sizeof stats, NULL, 0) == LARDER_E_FORKED, "no counters");

  larder_store *own = opened(url);
  larder_session *session = session_of(own);
  work(session, "child");
  larder_session_close(session);
  closed(own);
  if (!keeps) {
    larder_session_close(of_server);
    CHECK(larder_close(server, message, sizeof message) == LARDER_E_FORKED, message);
    larder_session_close(of_file);
    closed(file);
  }
}

int main(int argc, char **argv) {
  int status = -1;
  file = opened(argv[1]);
  server = opened(argv[2]);
  of_file = session_of(file);
  of_server = session_of(server);
  IS(of_file, LARDER_OK, larder_set(of_file, TEXT("key"), TEXT("of the parent"), LARDER_FOREVER, 0, NULL));
  IS(of_server, LARDER_OK, larder_set(of_server, TEXT("key"), TEXT("of the parent"), LARDER_FOREVER, 0, NULL));
  pid_t forked = fork();
  CHECK(forked >= 0, "fork");
  if (forked == 0) {
    child(argv[2], argc > 3);
    _exit(0);
  }
  work(of_server, "parent");
  CHECK(waitpid(forked, &status, 0) == forked && status == 0, "the child succeeds");
  /* What the child has closed is still open here. */
  work(of_server, "parent");
  CHECK(holds(of_server, "key", "of the parent"), "the child's refused set was not sent");
  CHECK(holds(of_server, "child-9", "value 299 of the child"), "the child's own sets were");
  CHECK(holds(of_file, "key", "of the child"), "the file is shared");
  larder_session_close(of_file);
  larder_session_close(of_server);
  closed(file);
  closed(server);
  return 0;
}
