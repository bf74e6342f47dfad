/* Opening liblarder. */
#include "library.h"

#include <dlfcn.h>
#include <ruby.h>
#include <stdlib.h>

/* The name by which the loader of the system finds the library. */
#define SONAME "liblarder.so.0.2"

struct library library;

void load_library(void) {
  const char *file = getenv("LARDER_LIBRARY");
  void *handle = dlopen(file && *file ? file : SONAME, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    rb_raise(rb_eLoadError,
             "larder: the library for C is not found (%s); install it with `packaging/capi /usr/local`, or name its file "
             "in LARDER_LIBRARY",
             dlerror());
  }
#define FIND(name)                                                                                           \
  library.name = (__typeof__(library.name))dlsym(handle, "larder_" #name);                                   \
  if (!library.name) {                                                                                       \
    rb_raise(rb_eLoadError, "larder: the library for C has no larder_" #name "; install the one of this version"); \
  }
  LARDER_FUNCTIONS(FIND)
#undef FIND
}
