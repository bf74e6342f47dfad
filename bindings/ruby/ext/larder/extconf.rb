# frozen_string_literal: true

require "mkmf"

# The library itself is found when a program runs, so only its header is needed here: that of Larder's repository, or the
# one that `packaging/capi` has installed.
dir_config("larder")
here = File.expand_path("../../../../cache/capi/include", __dir__)
found = find_header("larder.h", here)
# All of its flags would link the library as well.
if !found && (folders = pkg_config("larder", "cflags-only-I"))
  $INCFLAGS << " " << folders
  found = find_header("larder.h")
end
abort <<~TEXT unless found
  larder.h is not found; install Larder's library for C with `packaging/capi /usr/local`, or name the folder:
    gem install larder -- --with-larder-include=FOLDER
TEXT
have_library("dl", "dlopen")
$CFLAGS << " -std=gnu11 -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden"
create_makefile("larder/larder_ext")
