/* Keys, values and TTLs of Ruby, as the library takes them. */
#include "values.h"

#include <math.h>
#include <ruby/encoding.h>
#include <string.h>

/* Bytes. */
#define FLAGS_BYTES 0
/* A whole number in decimal digits, which `incr` changes. */
#define FLAGS_NUMBER 2
/* Text in UTF-8. */
#define FLAGS_TEXT 16
/* A value that a stack of the package for Python has loaded: its own flags in four bytes, the high one first, and the
 * value behind them. */
#define FLAGS_LOADED 128

/* The longest time in seconds that milliseconds can hold with room to spare. */
#define LONGEST_S 9e15

VALUE key_of(VALUE key, int stable) {
  if (SYMBOL_P(key)) return rb_sym2str(key);
  if (!RB_TYPE_P(key, T_STRING)) {
    rb_raise(rb_eTypeError, "a key is a String or a Symbol, not %" PRIsVALUE "; write key.to_s", rb_obj_class(key));
  }
  return stable ? rb_str_new_frozen(key) : key;
}

/* The flags of a String: text where its encoding says so and its bytes agree. */
static uint32_t flags_of(VALUE string) {
  int encoding = rb_enc_get_index(string);
  if (encoding == rb_ascii8bit_encindex()) return FLAGS_BYTES;
  if (encoding == rb_utf8_encindex() || encoding == rb_usascii_encindex()) {
    return rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN ? FLAGS_BYTES : FLAGS_TEXT;
  }
  VALUE refused = rb_path2class("Encoding::CompatibilityError");
  rb_raise(refused, "a value is text in %s; write value.encode(\"UTF-8\") for text, or value.b for bytes",
           rb_enc_name(rb_enc_from_index(encoding)));
}

/* The form that the serializer makes: its `dump` returns bytes and flags. */
static struct stored dumped(VALUE value, VALUE serializer) {
  VALUE made = rb_funcall(serializer, rb_intern("dump"), 1, value);
  Check_Type(made, T_ARRAY);
  VALUE string = rb_ary_entry(made, 0);
  Check_Type(string, T_STRING);
  return (struct stored){string, NUM2UINT(rb_ary_entry(made, 1))};
}

struct stored stored_of(VALUE value, VALUE serializer, int stable) {
  struct stored stored;
  if (RB_TYPE_P(value, T_STRING) && rb_obj_class(value) == rb_cString) {
    stored = (struct stored){value, flags_of(value)};
  } else if (RB_INTEGER_TYPE_P(value)) {
    stored = (struct stored){rb_String(value), FLAGS_NUMBER};
  } else {
    stored = dumped(value, serializer);
  }
  if (stable) stored.string = rb_str_new_frozen(stored.string);
  return stored;
}

VALUE value_of(const void *data, size_t len, uint32_t flags, VALUE serializer) {
  const unsigned char *bytes = data;
  switch (flags) {
    case FLAGS_BYTES:
      return rb_str_new(data, len);
    case FLAGS_TEXT:
      return rb_utf8_str_new(data, len);
    case FLAGS_NUMBER:
      return rb_str_to_inum(rb_str_new(data, len), 10, 0);
    case FLAGS_LOADED:
      if (len < 4) rb_raise(rb_eArgError, "a loaded value has %zu bytes, and needs four for its flags", len);
      flags = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
      if (flags == FLAGS_LOADED) rb_raise(rb_eArgError, "a loaded value has a loaded value inside");
      return value_of(bytes + 4, len - 4, flags, serializer);
    default:
      return rb_funcall(serializer, rb_intern("load"), 2, rb_str_new(data, len), UINT2NUM(flags));
  }
}

/* Whether it is a number of seconds. A duration of ActiveSupport says so itself. A Time does not, although it has `to_f` too. */
static int is_span(VALUE time) {
  if (RTEST(rb_obj_is_kind_of(time, rb_cNumeric))) return 1;
  VALUE number = rb_cNumeric;
  VALUE said = rb_check_funcall(time, rb_intern("is_a?"), 1, &number);
  return said != Qundef && RTEST(said);
}

/* Milliseconds of a time in seconds, or LARDER_FOREVER where it is longer than these can tell. */
static int64_t span_of(VALUE time, const char *name, const char *or_nil) {
  if (!is_span(time)) rb_raise(rb_eTypeError, "%s is a %" PRIsVALUE "; write seconds%s", name, rb_obj_class(time), or_nil);
  double seconds = NUM2DBL(rb_funcall(time, rb_intern("to_f"), 0));
  if (!(seconds >= 0)) {
    rb_raise(rb_eArgError, "%s is %" PRIsVALUE "; write seconds, 0 or more%s", name, time, or_nil);
  }
  /* A time below a millisecond is not over at once. */
  return seconds > LONGEST_S ? LARDER_FOREVER : (int64_t)ceil(seconds * 1000);
}

int64_t ttl_of(VALUE ttl) { return NIL_P(ttl) ? LARDER_FOREVER : span_of(ttl, "ttl", ", or nil for ever"); }

int64_t time_of(VALUE time, const char *name) {
  int64_t ms = span_of(time, name, "");
  return ms == LARDER_FOREVER ? (int64_t)LONGEST_S * 1000 : ms;
}
