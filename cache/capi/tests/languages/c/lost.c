/*
 * A server that ends while a program has connections to it: lost URL KIND, with the kinds of verbs.c. The program says when it is
 * connected, and waits for a line. Calls then fail, and no SIGPIPE ends the program.
 */

#include "check.h"

int main(int argc, char **argv) {
  static char large[900 << 10];
  char line[16], message[256];
  larder_outcome outcomes[2];
  larder_put pair[2] = {
      {bytes("a"), {large, sizeof large}, LARDER_FOREVER, 0, 0, LARDER_SET},
      {bytes("b"), {large, sizeof large}, LARDER_FOREVER, 0, 0, LARDER_SET},
  };
  CHECK(argc == 3, "lost URL KIND");
  larder_store *store = opened(argv[1]);
  larder_session *one = session_of(store), *many = session_of(store);
  IS(one, LARDER_OK, larder_set(one, TEXT("key"), large, sizeof large, LARDER_FOREVER, 0, NULL));
  IS(many, LARDER_OK, larder_set_many(many, pair, 2, outcomes));
  puts("connected");
  fflush(stdout);
  CHECK(fgets(line, sizeof line, stdin) != NULL, "a line when the server has ended");
  for (int i = 0; i < 3; i++) {
    int32_t code = larder_set(one, TEXT("key"), large, sizeof large, LARDER_FOREVER, 0, NULL);
    CHECK(code == LARDER_E_UNAVAILABLE || code == LARDER_E_IO, larder_message(one));
    code = larder_set_many(many, pair, 2, outcomes);
    CHECK(code == LARDER_E_UNAVAILABLE || code == LARDER_E_IO, larder_message(many));
    CHECK(outcomes[1].code < 0, "no outcome is made up");
  }
  larder_session_close(one);
  larder_session_close(many);
  /* A stack still has to remove the keys of the failed sets below, and its close tells that it could not. */
  int32_t wanted = strcmp(argv[2], "stack") == 0 ? LARDER_E_BUSY : LARDER_OK;
  CHECK(larder_close(store, message, sizeof message) == wanted, message);
  return 0;
}
