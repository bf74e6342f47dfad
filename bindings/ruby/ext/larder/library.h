/*
 * The functions of liblarder. The library is opened when the package is loaded and not linked, so that LARDER_LIBRARY can
 * name its file, and a missing library is one clear line.
 */
#ifndef LARDER_RUBY_LIBRARY_H
#define LARDER_RUBY_LIBRARY_H

#include <larder.h>

/* The functions that the package calls. */
#define LARDER_FUNCTIONS(USE) \
  USE(version)                \
  USE(open)                   \
  USE(close)                  \
  USE(session_open)           \
  USE(session_close)          \
  USE(store_stats)            \
  USE(message)                \
  USE(value)                  \
  USE(get)                    \
  USE(get_many)               \
  USE(set)                    \
  USE(add)                    \
  USE(replace)                \
  USE(cas)                    \
  USE(set_many)               \
  USE(incr)                   \
  USE(decr)                   \
  USE(touch)                  \
  USE(delete)                 \
  USE(delete_many)            \
  USE(clear)                  \
  USE(get_or_lease)           \
  USE(fill)                   \
  USE(release)                \
  USE(expire)

/* A pointer to each function, of the type that larder.h gives it. */
struct library {
#define DECLARE(name) __typeof__(larder_##name) *name;
  LARDER_FUNCTIONS(DECLARE)
#undef DECLARE
};

extern struct library library;

/* Opens the library, or raises a LoadError that says how to install it. */
void load_library(void);

#endif
