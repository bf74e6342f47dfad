#!/bin/sh
# Runs the tests of the program, with the Go that compiles it. The contract suite tests the caches, which need modules.
set -eu

go=${XDG_DATA_HOME:-$HOME/.local/share}/larder/go/bin/go
if [ ! -x "$go" ]; then
  echo '# skip: Go is not brought: ./setup.sh --with go'
  [ "${LARDER_REQUIRE-}" != all ]
  exit
fi
export CGO_ENABLED=0 GOFLAGS='' GOPROXY=off GOTOOLCHAIN=local GOWORK=off
unformatted=$("$(dirname "$(readlink -f "$go")")/gofmt" -l .)
if [ "$unformatted" ]; then
  echo "not formatted: $unformatted"
  exit 1
fi
"$go" vet ./measure ./t
"$go" test -count=1 -v ./t
