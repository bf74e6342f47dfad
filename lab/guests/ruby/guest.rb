# frozen_string_literal: true

# A guest of Larder: opens one of Ruby's caches, runs a plan on it, times itself. docs/guests.md describes the commands
# and answers.

require_relative "larder_guest/guest"
require_relative "larder_guest/protocol"

abort "usage: ruby guest.rb FOLDER, with commands on standard input" unless ARGV.length == 1

# A run that is stopped by the keyboard needs no backtrace.
trap("INT", "SYSTEM_DEFAULT")
# Standard output carries answers and nothing else, so the output of libraries goes to standard error.
answers = $stdout.dup
$stdout.reopen($stderr)
LarderGuest::Guest.open_cache(LarderGuest::Protocol.new($stdin, answers), ARGV[0])&.serve
