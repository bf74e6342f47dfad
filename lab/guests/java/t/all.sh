#!/bin/sh
# Compiles the program and its tests, once, and runs each test. The contract suite tests the caches that need a client.
set -eu

if ! command -v javac >/dev/null; then
  echo '# skip: javac is not installed: apt-get install default-jdk-headless'
  [ "${LARDER_REQUIRE-}" != all ]
  exit
fi
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
export TMPDIR="$classes"
# A client's package is not the virtual machine's and not this program's.
sources=$(find larder t -name '*.java' -exec \
  grep -LE '^import (static )?(com\.(github|google|hazelcast)|io\.lettuce|net\.spy|org\.ehcache|redis)\.' {} +)
# shellcheck disable=SC2086 # no name of a source has a space
javac -Xlint:all -Werror -proc:none -d "$classes" $sources
for test in t/*Test.java; do
  java -Djava.io.tmpdir="$classes" -cp "$classes" "larder.$(basename "$test" .java)"
done
