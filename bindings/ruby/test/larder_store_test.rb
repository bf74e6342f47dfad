# frozen_string_literal: true

require_relative "support"
require "active_support"
require "active_support/cache"
require "active_support/core_ext/date_time/conversions"
require "active_support/core_ext/integer/time"
require "active_support/core_ext/object/blank"
require "active_support/core_ext/time/zones"
require "active_support/logger"

# What the store of Rails has beyond ActiveSupport's own tests of cache stores, which suites/active_support_suite.rb runs.
class LarderStoreTest < StoreCase
  Cache = ActiveSupport::Cache

  def store(options = {})
    Cache.lookup_store(:larder_store, url, { namespace: key }.merge(options))
  end

  on_each "objects of all kinds are stored" do
    value = { range: 1..2, time: Time.at(0), nothing: nil, text: "täxt" }
    assert store.write("key", value)
    assert_equal value, store.read("key")
    assert_equal({ "key" => value }, store.read_multi("key", "absent"))
  end

  on_each "raw values are those of other languages" do
    assert store.write("number", 1, raw: true)
    assert store.write("text", "täxt", raw: true)
    assert store.write("bytes", "\xFF".b, raw: true)
    assert store.write("latin", "ä".encode("ISO-8859-1"), raw: true)
    plain = Larder.open(url)
    unless kind == :memory
      assert_equal 1, plain.get("#{key}:number")
      assert_equal "täxt", plain.get("#{key}:text")
    end
    assert_equal "1", store.read("number", raw: true)
    assert_equal "1", store.read("number")
    assert_equal "täxt", store.read("text", raw: true)
    assert_equal "\xFF".b, store.read("bytes", raw: true)
    assert_equal "\xE4".b, store.read("latin", raw: true)
    assert_equal({ "text" => "täxt", "number" => "1" }, store.read_multi("text", "number", raw: true))
    plain.close
  end

  on_each "counters are those of memcached" do
    assert_equal 5, store.increment("n", 5, expires_in: 60)
    assert_equal 4, store.decrement("n")
    assert_equal 6, store.decrement("n", -2)
    assert_equal 0, store.decrement("n", 10)
    assert_equal "0", store.read("n", raw: true)
    store.write("text", "text", raw: true)
    assert_nil store.increment("text")
  end

  on_each "entries expire and are stored where absent" do
    assert store.write("key", 1, expires_in: 1)
    refute store.write("key", 2, unless_exist: true)
    await("the entry is gone") { store.read("key").nil? }
    assert store.write("key", 2, unless_exist: true, expires_in: 1.hour)
    assert_equal 2, store.read("key")
    store.write("key", 3, expires_in: 0)
    assert_nil store.read("key")
  end

  on_each :mmap, "a TTL is a duration of ActiveSupport, and no point in time" do
    Larder.open(url) do |plain|
      assert plain.set(key, 1, ttl: 5.minutes)
      assert plain.touch(key, 1.5.hours)
      [5.minutes.from_now, DateTime.now, Time.utc(2100).in_time_zone("UTC")].each do |time|
        assert_match(/ttl is a .*; write seconds/, assert_raises(TypeError) { plain.set(key, 2, ttl: time) }.message)
      end
      assert_equal 1, plain.get(key)
    end
  end

  on_each "an expired entry is kept for who asks with race_condition_ttl" do
    store.write("key", "old", expires_in: 0.05, race_condition_ttl: 60)
    sleep 0.1
    inside = nil
    made = store.fetch("key", race_condition_ttl: 60) do
      inside = store.fetch("key", race_condition_ttl: 60) { flunk "a second caller makes it" }
      "new"
    end
    assert_equal %w[old new], [inside, made]
  end

  on_each "batches do what single calls do" do
    cache = store(expires_in: 60)
    cache.write_multi({ "a" => 1, "b" => [2] })
    assert_equal({ "a" => 1, "b" => [2] }, cache.read_multi("a", "b", "c"))
    assert_equal({ "a" => 1, "c" => "made" }, cache.fetch_multi("a", "c") { "made" })
    assert_equal 2, cache.delete_multi(%w[a b d])
    assert_equal ["c"], cache.read_multi("a", "b", "c").keys
    cache.with_local_cache do
      cache.write_multi({ "a" => 1 })
      assert_equal({ "a" => 1 }, cache.read_multi("a"))
      cache.delete_multi(["a"])
      assert_nil cache.read("a")
    end
    assert_nil cache.read("a")
  end

  on_each "keys that no memcached takes are stored" do
    keys = ["with space", "täxt", "100%", "a" * 300, "#{"a" * 300}b", "line\n"]
    keys.each { |name| assert store.write(name, name) }
    keys.each { |name| assert_equal name, store.read(name) }
    assert_equal keys.sort, store.read_multi(*keys).keys.sort
  end

  on_each "caches with one URL share a store" do
    other = store
    store.write("key", 1)
    assert_equal 1, other.read("key")
    assert_nil store(namespace: "other").read("key")
    assert_operator store.stats[:hits], :>=, 1
  end

  on_each "a value too large is not written" do
    next if kind == :memory

    cache = store(compress: false)
    cache.logger = ActiveSupport::Logger.new(log = StringIO.new)
    large = "x" * (3 << 20)
    assert cache.write("small", 1)
    refute cache.write("large", large)
    refute cache.write_multi({ "large" => large, "other" => 2 })
    assert cache.write_multi({ "more" => 3 })
    assert_equal({ "small" => 1, "other" => 2, "more" => 3 }, cache.read_multi("small", "large", "other", "more"))
    assert_match(/write_multi_entries failed .*1 of 2 entries were not stored: #{key}:large/, log.string)
  ensure
    Cache::Store.logger = nil
  end

  on_each "a forked child uses the cache of its parent" do
    store.write("key", "parent")
    assert_equal "parent", in_child { store.read("key") }
    assert_equal "parent", store.read("key")
  end

  on_each "another program's value is a miss" do
    next if kind == :memory

    foreign = [{ "a" => 1 }, Marshal.dump([1]), "", "bytes", "\x04\bgarbage", "\x01bytes", "\xFF"]
    caches = [store, store(coder: Marshal), store(coder: nil)]
    foreign.product(caches).each do |value, cache|
      Larder.open(url) { |plain| plain.set("#{key}:key", value.is_a?(String) ? value.b : value) }
      assert_nil cache.read("key")
      assert_empty cache.read_multi("key")
      assert_equal "made", cache.fetch("key") { "made" }
    end
  end

  on_each "a cache without a coder takes entries" do
    cache = store(coder: nil)
    cache.write("key", [1])
    assert_equal [1], cache.read("key")
    cache.with_local_cache { 2.times { assert_equal [1], cache.read("key") } }
  end

  on_each :memory, :mmap, "a cache is emptied" do
    store.write("key", 1)
    store.clear
    assert_nil store.read("key")
  end

  on_each :memcached, :tiered, "a server of others is not emptied" do
    store.write("key", 1)
    assert_match(/does not support clear here/, assert_raises(NotImplementedError) { store.clear }.message)
    assert_equal 1, store.read("key")
  end

  def test_a_server_that_is_not_there_is_a_miss_until_it_comes
    @kind = :memcached
    address, server = Servers.start_memcached
    Servers.stop(server)
    server = nil
    log = StringIO.new
    cache = Cache.lookup_store(:larder_store, "memcached://#{address}")
    cache.logger = ActiveSupport::Logger.new(log)
    assert_nil cache.read("key")
    assert_equal "made", cache.fetch("key") { "made" }
    refute cache.write("key", 1)
    refute cache.delete("key")
    assert_nil cache.increment("n")
    assert_nil cache.clear
    assert_match(/LarderStore: read_entry failed .*refused/, log.string)
    _, server = Servers.start_memcached(Integer(address[/\d+\z/]))
    assert cache.write("key", 1)
    assert_equal 1, cache.read("key")
  ensure
    Cache::Store.logger = nil
    Servers.stop(server) if server
  end

  def test_a_server_that_does_not_answer_at_first_holds_up_one_thread_only
    server = TCPServer.open("127.0.0.1", 0)
    address = "memcached://127.0.0.1:#{server.addr[1]}"
    accepted = Thread.new { server.accept.close }
    cache = Cache.lookup_store(:larder_store, "#{address}?timeout=10s")
    accepted.join
    waiting = Thread.new { cache.read("key") }
    connection = server.accept
    assert_nil cache.read("key")
    assert_equal "made", cache.fetch("key") { "made" }
    assert_predicate waiting, :alive?
    connection.close
    server.close
    assert_nil waiting.value
  end

  def test_a_store_without_flags_takes_everything
    address, server = Servers.start_redis
    cache = Cache.lookup_store(:larder_store, "redis://#{address}", expires_in: 60)
    [{ a: 1 }, "täxt", 7, nil].each do |value|
      assert cache.write("key", value)
      value.nil? ? assert_nil(cache.read("key")) : assert_equal(value, cache.read("key"))
    end
    { "text" => "täxt", "bytes" => "\xFF".b, "number" => 7 }.each { |name, value| assert cache.write(name, value, raw: true) }
    assert_equal ["täxt", "\xFF".b, "7"], %w[text bytes number].map { |name| cache.read(name, raw: true) }
    assert_equal 8, cache.increment("number")
    cache.write_multi({ "a" => "ä", "b" => "b" }, raw: true)
    assert_equal({ "a" => "ä", "b" => "b" }, cache.read_multi("a", "b", raw: true))
  ensure
    Servers.stop(server) if server
  end

  def test_wrong_options_are_told
    assert_match(/\[:pool_size\] are not known/, assert_raises(ArgumentError) do
      Cache.lookup_store(:larder_store, "memory:", pool_size: 5)
    end.message)
    assert Cache.lookup_store(:larder_store, "memory:", pool: false)
    assert_raises(Larder::UsageError) { Cache.lookup_store(:larder_store, "memcache:") }
    assert_raises(NotImplementedError) { Cache.lookup_store(:larder_store, "memory:").delete_matched(/a/) }
    assert_match(/LarderStore memory:/, Cache.lookup_store(:larder_store, "memory:").inspect)
  end
end
