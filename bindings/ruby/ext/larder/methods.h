/* The methods of Larder::Store, in the files by what they do. */
#ifndef LARDER_RUBY_METHODS_H
#define LARDER_RUBY_METHODS_H

#include <ruby.h>

void define_reads(VALUE store);
void define_writes(VALUE store);
void define_batches(VALUE store);
void define_leases(VALUE store);

#endif
