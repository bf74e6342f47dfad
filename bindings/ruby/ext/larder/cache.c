/* An open store with its sessions, and a call on one of them. */
#include "cache.h"

#include <pthread.h>
#include <ruby/thread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

/* The longest message of an error. */
#define MESSAGE_SIZE 512

/* The number of forks between the first process and this one. */
static unsigned generation;

static void forked(void) { generation++; }

void watch_forks(void) { pthread_atfork(NULL, NULL, forked); }

void raise_code(int32_t code, const char *message) {
  VALUE text = rb_utf8_str_new_cstr(message);
  rb_exc_raise(rb_funcall(rb_path2class("Larder::Error"), rb_intern("of"), 2, INT2NUM(code), text));
}

/* --- Waiting ---------------------------------------------------------------------------------------------------- */

struct work {
  void (*run)(void *);
  void *argument;
  int ran;
};

/*
 * Does the work without Ruby's lock. Ruby's clock for its threads is a signal, which may come every few milliseconds. A wait
 * for a server that a signal breaks off begins anew, and would never reach its time-out.
 */
static void *run_work(void *work) {
  struct work *it = work;
  sigset_t clock, before;
  sigemptyset(&clock);
  sigaddset(&clock, SIGVTALRM);
  pthread_sigmask(SIG_BLOCK, &clock, &before);
  it->run(it->argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  it->ran = 1;
  return NULL;
}

static VALUE check_interrupts(VALUE nothing) {
  rb_thread_check_ints();
  return nothing;
}

void outside(int waits, void (*run)(void *), void *argument, void (*undo)(void *)) {
  if (!waits) {
    run(argument);
    return;
  }
  struct work work = {run, argument, 0};
  while (!work.ran) {
    /* This one looks for interrupts before the work and not after it, so that a Timeout never loses a session. */
    rb_thread_call_without_gvl2(run_work, &work, NULL, NULL);
    if (work.ran) break;
    int state = 0;
    rb_protect(check_interrupts, Qnil, &state);
    if (state) {
      if (undo) undo(argument);
      rb_jump_tag(state);
    }
  }
}

/* --- Opening and closing ---------------------------------------------------------------------------------------- */

struct opening {
  const char *url;
  struct cache *cache; /* of a session */
  larder_store *store;
  larder_session *session;
  int32_t code;
  char message[MESSAGE_SIZE];
};

static void open_store(void *opening) {
  struct opening *it = opening;
  it->code = library.open(it->url, &it->store, it->message, sizeof it->message);
}

static void open_session(void *opening) {
  struct opening *it = opening;
  it->code = library.session_open(it->store, &it->session, it->message, sizeof it->message);
}

static void close_store(void *opening) {
  struct opening *it = opening;
  it->code = library.close(it->store, it->message, sizeof it->message);
}

static void close_free_sessions(struct cache *cache) {
  while (cache->n_free > 0) library.session_close(cache->free[--cache->n_free]);
}

/* Whether the store is one that a parent has opened, and that its forked child cannot use. What never waits goes on. */
static int is_inherited(const struct cache *cache) { return cache->waits && cache->generation != generation; }

/* Lets go of what the parent has opened. The library leaves the parent's connections alone, and refuses the rest, which is
 * no error here. Sessions that calls of the parent used at the fork stay as they are. */
static void let_go(struct cache *cache) {
  close_free_sessions(cache);
  cache->n_taken = 0;
  library.close(cache->store, NULL, 0);
  cache->store = NULL;
}

void cache_open(struct cache *cache, const char *url) {
  struct opening opening = {.url = url};
  outside(1, open_store, &opening, NULL);
  if (opening.code < 0) raise_code(opening.code, opening.message);
  unsigned of_this_process = generation;
  if (cache->closed || (cache->store && cache->generation == of_this_process)) {
    /* Another thread of a forked child has closed it meanwhile, or was faster. */
    library.close(opening.store, NULL, 0);
    return;
  }
  let_go(cache);
  cache->store = opening.store;
  cache->generation = of_this_process;
}

/* Closes the store in order. */
static void end_store(struct cache *cache) {
  struct opening opening = {.store = cache->store};
  cache->store = NULL;
  close_free_sessions(cache);
  outside(cache->waits, close_store, &opening, close_store);
  if (opening.code < 0) raise_code(opening.code, opening.message);
}

void cache_close(struct cache *cache) {
  cache->closed = 1;
  if (is_inherited(cache)) {
    let_go(cache);
    return;
  }
  /* The last call that still has a session closes the store otherwise. */
  if (cache->store && cache->n_taken == 0) end_store(cache);
}

/* --- Ruby's object ---------------------------------------------------------------------------------------------- */

static void cache_mark(void *data) {
  struct cache *cache = data;
  rb_gc_mark(cache->serializer);
}

static void cache_free(void *data) {
  struct cache *cache = data;
  /* What a forked child has from its parent is not the child's to end. */
  if (!is_inherited(cache)) {
    close_free_sessions(cache);
    library.close(cache->store, NULL, 0);
  }
  free(cache->free);
  free(cache->url);
  xfree(cache);
}

static size_t cache_size(const void *data) {
  const struct cache *cache = data;
  return sizeof *cache + cache->capacity * sizeof *cache->free;
}

const rb_data_type_t cache_type = {
    .wrap_struct_name = "Larder::Store",
    .function = {.dmark = cache_mark, .dfree = cache_free, .dsize = cache_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

struct cache *cache_of(VALUE self) {
  struct cache *cache;
  TypedData_Get_Struct(self, struct cache, &cache_type, cache);
  return cache;
}

/* --- Calls ------------------------------------------------------------------------------------------------------ */

/* Ends the place of a session. The last one of a store that was closed meanwhile closes it. */
static void leave(struct cache *cache) {
  cache->n_taken--;
  if (cache->closed && cache->n_taken == 0 && cache->store) end_store(cache);
}

static void undo_session(void *opening) { leave(((struct opening *)opening)->cache); }

/* Takes a session that nobody else uses. */
static void take(struct call *call) {
  struct cache *cache = call->cache;
  call->code = LARDER_OK;
  if (is_inherited(cache) && !cache->closed) cache_open(cache, cache->url);
  if (cache->closed) rb_raise(rb_path2class("Larder::Error"), "the store is closed; open it again");
  if (!cache->store) rb_raise(rb_path2class("Larder::Error"), "the store is not open; use Larder.open");
  call->generation = generation;
  if (cache->n_free > 0) {
    call->session = cache->free[--cache->n_free];
    cache->n_taken++;
    return;
  }
  struct opening opening = {.cache = cache, .store = cache->store};
  cache->n_taken++;
  outside(cache->waits, open_session, &opening, undo_session);
  if (opening.code < 0) {
    leave(cache);
    raise_code(opening.code, opening.message);
  }
  call->session = opening.session;
}

/* Keeps a session for the next call, unless there is no memory for it: then that call opens another one. */
static void keep(struct cache *cache, larder_session *session) {
  if (cache->n_free == cache->capacity) {
    size_t capacity = cache->capacity ? 2 * cache->capacity : 4;
    larder_session **longer = realloc(cache->free, capacity * sizeof *longer);
    if (!longer) {
      library.session_close(session);
      return;
    }
    cache->free = longer;
    cache->capacity = capacity;
  }
  cache->free[cache->n_free++] = session;
}

void done(struct call *call) {
  struct cache *cache = call->cache;
  larder_session *session = call->session;
  call->session = NULL;
  if (cache->waits && call->generation != generation) {
    /* A serializer has forked, and this is the child. The session is the parent's, and no longer counted here. */
    library.session_close(session);
    return;
  }
  if (cache->closed || call->code == LARDER_E_PANIC) {
    library.session_close(session);
  } else {
    keep(cache, session);
  }
  leave(cache);
}

static void run_call(void *call) {
  struct call *it = call;
  it->code = it->run(it);
}

static void undo_call(void *call) { done(call); }

void perform(struct call *call) {
  take(call);
  outside(call->cache->waits, run_call, call, undo_call);
  if (call->code >= 0) return;
  char message[MESSAGE_SIZE];
  snprintf(message, sizeof message, "%s", library.message(call->session));
  int32_t code = call->code;
  done(call);
  raise_code(code, message);
}

struct making {
  struct call *call;
  VALUE (*make)(struct call *);
};

static VALUE make_it(VALUE making) {
  struct making *it = (struct making *)making;
  return it->make(it->call);
}

VALUE finish(struct call *call, VALUE (*make)(struct call *)) {
  struct making making = {call, make};
  int state = 0;
  VALUE made = rb_protect(make_it, (VALUE)&making, &state);
  done(call);
  if (state) rb_jump_tag(state);
  return made;
}
