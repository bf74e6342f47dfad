#!/bin/sh
# Runs one file of tests by the Node.js that Larder takes, beside the packages of Larder. `sh t/node.sh t/loops.test.js`
set -eu

own=${XDG_DATA_HOME:-$HOME/.local/share}/larder/node
node=$own/bin/node
[ -x "$node" ] || node=$(command -v node) || {
  echo '# skip node is not installed: ./setup.sh --with node'
  exit
}
# A copy of the program, because its packages lie beside it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r guest.js child.js package.json larder t "$work"
if [ -d "$own/node_modules" ]; then ln -s "$own/node_modules" "$work/node_modules"; fi
cd "$work"
"$node" --test --test-reporter=tap --expose-gc "t/$(basename "$1")"
