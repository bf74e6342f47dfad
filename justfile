# The most frequent commands. `just` lists them; each line can be typed without `just` too.

_list:
    @{{ just_executable() }} --list --unsorted

# Format, lints and tests: a change must pass them. `.ci/run` does more, and installs its own needs.
check: lint test

# The tests of every change; arguments go to cargo test
test *arguments:
    cargo test --workspace {{ arguments }}

# Everything that `.ci/run` leaves out, in one command that goes on after a failure and ends with a table; or some of its stages:
# just nightly tests
nightly *stages:
    .ci/nightly {{ stages }}

# The contract suite for one engine, with all tried options: just contract memcached
contract engine *arguments:
    LARDER_LANE=nightly cargo test -p larder-engines --no-default-features --features {{ engine }} --test contract -- {{ arguments }}

# The contract suite for all engines, with all tried options
contracts *arguments:
    LARDER_LANE=nightly cargo test --workspace --test contract -- {{ arguments }}

# The contract suite for the guests of all languages, with all tried options
guests *arguments:
    LARDER_LANE=nightly cargo test -p larder-bench --test guest_contract -- {{ arguments }}

# The cost that Larder adds to a bare operation of memcached, Redis, PostgreSQL, MongoDB and of a file, and the measured loop
bench-floor:
    cargo bench -p larder-engines --bench floor_memcached
    cargo bench -p larder-engines --bench floor_redis
    cargo bench -p larder-engines --bench floor_pipeline
    cargo bench -p larder-engines --bench floor_postgresql
    cargo bench -p larder-engines --bench floor_mongodb
    cargo bench -p larder-engines --bench floor_file
    cargo bench -p larder-bench --bench floor_loop

# The segment cache beside its peers and its floors, and its goals, in two minutes; or parts of it: just bench-segment hit set
bench-segment *parts:
    cargo bench -p larder-bench --bench segment -- {{ parts }}

# The cost of a verified load from many connections beside a bare loop that checks nothing; needs memcached and two
# processors
bench-load:
    cargo bench -p larder-bench --bench load

# larder serve beside memcached, pogocache and Pelikan's segcache where they are installed, and an echo of the same
# bytes as the floor, in seven minutes; or parts of it: just bench-serve get/100b set/1k/c40; needs two processors
bench-serve *cells:
    cargo bench -p larder-bench --bench serve -- {{ cells }}

# What `larder record` costs beside memcached, and its floor, in four minutes; or parts of it: just bench-record pipeline
bench-record *figures:
    cargo bench -p larder-record --bench load -- {{ figures }}

# Whether verdicts are right: 30 real comparisons of a store with itself and 30 with one slowed by 10 %; 15 minutes at most, far less on an idle machine
verdicts *arguments:
    cargo bench -p larder-bench --bench verdicts -- {{ arguments }}

# Five minutes of processes that share a cache and are killed, stopped and resumed: three with mmap:, one each with Perl's
# Cache::FastMmap and PHP's APCu where they are installed, and a table of all
torture seconds='300':
    LARDER_LANE=nightly LARDER_TORTURE={{ seconds }} cargo test --release -p larder-segment --test torture

# A thousand kills of `larder serve` over each store of files, under load: each next server must have what was acknowledged. The time until it is
# warm is printed
kills number='1000':
    LARDER_LANE=nightly LARDER_KILLS={{ number }} cargo test --release -p larder-cli --test kills

# Two hundred losses of power for each class of durability, in which a disk keeps what it likes of unsynced writes: each store
# must keep its promise. The changes that it lost are printed
power number='200':
    LARDER_LANE=nightly LARDER_POWER={{ number }} cargo test -p larder-engines --test power

# An hour of processes on two hosts over each kind of stack, while processes, servers and wires fail: no read is older than
# docs/tiers.md promises. The counts are printed
consistency seconds='3600':
    LARDER_LANE=nightly LARDER_CONSISTENCY={{ seconds }} cargo test --release -p larder-tiers --test consistency

# A week of a cache over LMDB, with ten million entries that live for seconds to days, on a manual clock: the length of the
# file each day, and the cost of reads beside a new store with the same entries
week sets='10000000':
    LARDER_WEEK={{ sets }} cargo test --release -p larder-engines --lib week -- --nocapture

# Every article at its short length: as published it must fire the checks that its scenario names, and as corrected no
# check of severity error; an hour and a half or more
articles:
    cargo test --release -p larder-bench --test article_runs -- --ignored --test-threads 1

# Hold `larder advise` against a comparison of all candidates at all sizes on a trace, a quarter of an hour or more. Further
# arguments go to both, and the results stay in the folder: just advice web12.trace.xz /var/tmp/web12 -d 8k
advice trace folder *arguments:
    LARDER_TRACE={{ trace }} LARDER_FOLDER={{ folder }} LARDER_WORK='{{ arguments }}' \
      cargo test --release -p larder-cli --test exhaustive_advice -- --ignored --nocapture

# Run quick and hit-ratio on an idle machine, and show them in docs; needs chromium
gallery:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --release --locked
    larder=$(realpath "${CARGO_TARGET_DIR:-target}/release/larder")
    runs=$(mktemp -d)
    # The run starts in its folder, so that the page names no folder of this machine.
    (cd "$runs" && COLUMNS=110 "$larder" compare --quiet --output quick >table)
    "$larder" compare --quiet --scenario hit-ratio --output "$runs/hit-ratio" >/dev/null
    "$larder" report "$runs/hit-ratio" --export-svg "$runs/pictures"
    awk -v table="$runs/table" '
        /^<!-- report -->$/ { print; print "```text"; while ((getline line < table) > 0) print line; print "```"; inside = 1 }
        /^<!-- end of report -->$/ { inside = 0 }
        !inside' docs/tutorial.md >"$runs/tutorial.md"
    cp "$runs/tutorial.md" docs/tutorial.md
    cp "$runs/quick/report.html" docs/gallery/quick.html
    cp "$runs/pictures/hit_ratio-get_or_set.svg" docs/gallery/hit-ratio.svg
    chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,1400 \
        --screenshot=docs/gallery/quick.png "file://$PWD/docs/gallery/quick.html"
    rm -r "$runs"

# Make the pages of the gallery that only a release has, in a folder: hours on an idle machine with all guests
gallery-pages folder:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --release --locked
    PATH=$(realpath "${CARGO_TARGET_DIR:-target}/release"):$PATH
    mkdir -p "{{ folder }}"
    cd "{{ folder }}"
    page() {
        larder compare --quiet --output "$1.run" "${@:2}" >/dev/null
        mv "$1.run/report.html" "$1.html"
        rm -r "$1.run"
    }
    six=(moka: lmdb: file: sqlite: memcached: redis:)
    page sizes "${six[@]}" -d 100,1k,10k,100k -k 2000 -r 12
    page web12 "${six[@]}" --keys-from trace:builtin:web12 --on-miss fill
    page hit-ratio-full --scenario hit-ratio --full
    for scenario in languages go java node php python ruby; do page "$scenario" --scenario "$scenario"; done

# Run all articles in both forms on an idle machine, two hours or more, and show them in docs/articles.md
articles-page:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --release --locked
    runs=$(mktemp -d)
    # The run is started by its name and in its folder, so that the page names no folder of this machine.
    PATH=$(realpath "${CARGO_TARGET_DIR:-target}/release"):$PATH
    # The exit code tells of targets that cannot run, as XCache on a PHP of today.
    (cd "$runs" && larder compare --quiet --scenario all-articles --output all >/dev/null) || true
    ./docs/articles/show "$runs/all"
    rm -r "$runs"

# Build the package for Python into an environment below target, and run its tests and the suites of Django, cachelib and dogpile.cache
python:
    bindings/python/check

# Eight processes of all languages on one file, killed and started again at random, for ten minutes: no wrong value, no call that
# hangs, nothing left
mixed seconds='600':
    #!/usr/bin/env bash
    set -euo pipefail
    target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
    packaging/capi "$target/mixed"
    (cd bindings/ruby && rake compile)
    [[ -e $target/mixed/pip ]] || python3 -m venv "$target/mixed/pip"
    CARGO_TARGET_DIR=$target "$target/mixed/pip/bin/pip" --quiet install --upgrade --target "$target/mixed/python" \
      --config-settings 'build-args=--locked' ./bindings/python
    cargo build --release --locked --package larder --example mixed_worker
    cargo build --release --locked --package larder-cli
    python3 cache/capi/tests/mixed/run.py {{ seconds }} --library "$target/mixed" --larder "$target/release/larder" \
      --rust "$target/release/examples/mixed_worker"

# Run the tests of the package for PHP, and the suites that are published for PSR-6 and PSR-16, without its extension and with it
php:
    bindings/php/check

# Compile the package for Ruby, and run its tests and ActiveSupport's own tests of cache stores
ruby:
    bindings/ruby/check

# Write the generated files again: docs/engines/, docs/checks.md, the schemas in docs, a table of docs/serve-compatibility.md, the map of ARCHITECTURE.md
generate:
    LARDER_BLESS=1 cargo test --quiet -p larder-cli --test generated
    LARDER_BLESS=1 cargo test --quiet -p larder-report --test it the_published_schema

# Compare the interface of the library for Rust with that of a commit; needs `cargo install cargo-semver-checks`
semver since:
    cargo semver-checks --package larder --baseline-rev {{ since }}

# Install the library for C below a folder, with more arguments for cargo: just install-capi /usr/local --features all
install-capi prefix *arguments:
    packaging/capi {{ prefix }} {{ arguments }}

# Format and lints, as in .ci/run
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- --deny warnings

# The segment cache under Miri, in private memory: every access by the rules of the language; two minutes
miri:
    MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p larder-segment --lib --test threads -- \
      --skip lock::tests --skip holder::tests

# The segment cache under a sanitizer: address, or thread, which compiles the standard library as well and so needs rust-src
sanitize kind="address":
    RUSTFLAGS=-Zsanitizer={{ kind }} cargo +nightly test -p larder-segment --target x86_64-unknown-linux-gnu \
      {{ if kind == "thread" { "-Zbuild-std --lib --test threads" } else { "--lib --test model --test file --test image --test threads --test namespace" } }}

# The segment cache's own code under loom, also without each of its precautions: every order of two threads' accesses
models:
    cargo test --release --features mutants --manifest-path models/Cargo.toml

# Fuzz one target for some seconds; needs a nightly compiler and cargo-fuzz
fuzz target seconds="60":
    cargo +nightly fuzz run {{ target }} -- $(ls fuzz/dictionaries/{{ target }}.dict 2>/dev/null | sed 's/^/-dict=/') \
      -timeout=20 -max_total_time={{ seconds }}
