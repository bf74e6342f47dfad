//! Tests of links whose other end is a socket of the test.
