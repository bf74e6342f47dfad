/*
 * Keys, values and TTLs of Ruby, as the library takes them. The flags of an entry tell the form of its value, with the
 * numbers of Larder's packages for the other languages.
 */
#ifndef LARDER_RUBY_VALUES_H
#define LARDER_RUBY_VALUES_H

#include <larder.h>
#include <ruby.h>

/* A value as it is stored. */
struct stored {
  VALUE string;
  uint32_t flags;
};

/* The bytes of a key, which is a String or a Symbol. A `stable` one stays as it is while other threads run. */
VALUE key_of(VALUE key, int stable);

/* The stored form of a value. */
struct stored stored_of(VALUE value, VALUE serializer, int stable);

/* The value of a stored form. */
VALUE value_of(const void *data, size_t len, uint32_t flags, VALUE serializer);

/* Milliseconds of a TTL in seconds; nil is for ever. */
int64_t ttl_of(VALUE ttl);

/* Milliseconds of another time in seconds, which errors call by its name. */
int64_t time_of(VALUE time, const char *name);

#endif
