# frozen_string_literal: true

# What a hit costs in Ruby: every cache in turn, in rounds, in one process. It starts a memcached of its own.
#
#   rake bench
#   ruby -Ilib bench/hit.rb [ROUNDS [SECONDS OF A TURN]]

require "active_support"
require "active_support/cache"
require "active_support/core_ext/numeric/bytes"
require "dalli"
require "larder"
require "tmpdir"
require_relative "../test/servers"

KEYS = (0...1000).map { |number| "user:#{number}:profile".freeze }.freeze
VALUE = ("x" * 100).b.freeze
ROUNDS = Integer(ARGV.fetch(0, 9))
SECONDS = Float(ARGV.fetch(1, 0.2))

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# Nanoseconds of a hit: all keys again and again, until the time of a turn is over.
def turn(read)
  hits = 0
  start = now
  loop do
    KEYS.each { |key| read.call(key) or raise "#{key} is gone" }
    hits += KEYS.length
    return (now - start) * 1e9 / hits if now - start >= SECONDS
  end
end

# The caches by name: a Proc that stores a value, and one that reads it.
def caches(folder, memcached)
  hash = {}
  memory = Larder.open("memory:?size=64m")
  shared = Larder.open("mmap:#{folder}/cache?size=64m")
  dalli = Dalli::Client.new(memcached)
  remote = Larder.open("memcached://#{memcached}")
  stack = Larder.open("tiered:mmap:#{folder}/l1?size=64m|memcached://#{memcached}")
  stores = {
    "MemoryStore" => ActiveSupport::Cache::MemoryStore.new(size: 64.megabytes),
    "LarderStore, mmap:" => ActiveSupport::Cache.lookup_store(:larder_store, "mmap:#{folder}/store?size=64m"),
    "MemCacheStore" => ActiveSupport::Cache::MemCacheStore.new(memcached),
    "LarderStore, memcached:" => ActiveSupport::Cache.lookup_store(:larder_store, "memcached://#{memcached}")
  }
  {
    "Hash" => [hash.method(:[]=), hash.method(:[])],
    "Larder, memory:" => [memory.method(:set), memory.method(:get)],
    "Larder, mmap:" => [shared.method(:set), shared.method(:get)],
    "Larder, mmap: before memcached:" => [stack.method(:set), stack.method(:get)],
    "dalli" => [->(key, value) { dalli.set(key, value, nil, raw: true) }, dalli.method(:get)],
    "Larder, memcached:" => [remote.method(:set), remote.method(:get)],
    **stores.transform_values { |store| [store.method(:write), store.method(:read)] }
  }
end

def median(numbers)
  numbers.sort[numbers.length / 2]
end

Dir.mktmpdir("larder", "/dev/shm") do |folder|
  Servers.memcached do |memcached|
    caches = caches(folder, memcached)
    caches.each_value { |write, _| KEYS.each { |key| write.call(key, VALUE) } }
    times = caches.transform_values { [] }
    ROUNDS.times { caches.each { |name, (_, read)| times[name] << turn(read) } }
    dalli = median(times.fetch("dalli"))
    puts "Ruby #{RUBY_VERSION}, ActiveSupport #{ActiveSupport.version}, dalli #{Dalli::VERSION}: " \
         "a hit of #{VALUE.bytesize} bytes, median (and range) of #{ROUNDS} rounds"
    times.each do |name, all|
      puts format("%-32s %10.0f ns  (%.0f to %.0f)  %.4f x dalli", name, median(all), all.min, all.max, median(all) / dalli)
    end
  end
end
