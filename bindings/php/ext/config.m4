dnl The extension needs the header of the library alone: the package loads the library by FFI.
PHP_ARG_ENABLE([larder], [whether to enable Larder's reads of hits], [AS_HELP_STRING([--enable-larder], [Enable it])], [yes])

if test "$PHP_LARDER" != no; then
  PKG_CHECK_MODULES([LARDER], [larder])
  PHP_EVAL_INCLINE([$LARDER_CFLAGS])
  PHP_NEW_EXTENSION([larder], [larder.c], [$ext_shared])
fi
