# frozen_string_literal: true

require "timeout"
require_relative "support"

class LoadingTest < StoreCase
  on_each "a block runs for what is absent" do
    calls = []
    [{ "made" => 1 }, "bytes\xFF".b, "text", 7, nil, false].each_with_index do |value, number|
      make = -> { calls << number && value }
      2.times do
        made = cache.get_or_load(key(number), ttl: 60, &make)
        value.nil? ? assert_nil(made) : assert_equal(value, made)
      end
      assert cache.key?(key(number))
    end
    assert_equal [*0..5], calls
    assert_raises(ArgumentError) { cache.get_or_load(key) }
  end

  on_each "a block that fails leaves nothing behind" do
    assert_raises(ZeroDivisionError) { cache.fetch(key) { 1 / 0 } }
    assert_raises(TypeError) { cache.fetch(key) { Object.new } }
    assert_equal "left", catch(:out) { cache.fetch(key) { throw :out, "left" } }
    assert_equal "broken off", cache.fetch(key) { break "broken off" }
    started = now
    assert_equal "made", cache.fetch(key) { "made" }
    assert_operator now - started, :<, 4, "the next caller waits for nobody"
  end

  on_each "one thread loads for all" do
    store = cache
    calls = Queue.new
    threads = Array.new(8) do
      Thread.new do
        store.fetch(key, ttl: 60, wait: 30) do
          calls << 1
          sleep 0.2
          "made"
        end
      end
    end
    assert_equal ["made"] * 8, threads.map(&:value)
    assert_equal 1, calls.length
  end

  on_each :mmap, :memcached, :tiered, "one process loads for all" do
    log = File.join(folder, "log")
    children = Array.new(4) do
      fork do
        made = Larder.open(url) do |store|
          store.fetch(key, ttl: 60, wait: 30) do
            File.write(log, "loaded\n", mode: "a")
            sleep 0.2
            "made"
          end
        end
        exit!(made == "made")
      end
    end
    children.each { |child| assert_predicate Process.wait2(child)[1], :success? }
    assert_equal "loaded\n", File.read(log)
  end

  on_each :memory, :mmap, "an expired entry answers those who would wait" do
    cache.set(key, "old", ttl: 60)
    assert cache.expire(key)
    refute cache.expire(key("absent"))
    others = nil
    made = cache.fetch(key, ttl: 60) do
      others = Thread.new { cache.fetch(key) { flunk "a second caller loads" } }.value
      "new"
    end
    assert_equal %w[old new], [others, made]
    assert_equal "new", cache.get(key)
  end

  on_each "who waits too long makes the value" do
    made = cache.fetch(key, ttl: 60, lease: 30) do
      Thread.new { cache.fetch(key, wait: 0.05) { "impatient" } }.value
    end
    assert_equal "impatient", made
  end

  on_each "a block without parameters is given none" do
    made = cache.fetch(key, ttl: 60, lease: 30, &-> { cache.fetch(key, wait: 0, &-> { "impatient" }) })
    assert_equal "impatient", made
    assert_equal "made", cache.fetch(key("other"), &-> { "made" })
  end

  on_each "wrong times are told before a block works" do
    wrong = { ttl: [-1, "soon", Float::NAN], wait: [-1, nil, "soon"], lease: [-1, nil], early: [-1, nil] }
    wrong.each do |name, times|
      times.each do |time|
        error = assert_raises(TypeError, ArgumentError) { cache.fetch(key, **{ name => time }) { flunk "the block works" } }
        assert_match(/\A#{name} is #{time.is_a?(Numeric) ? time : "a #{time.class}"}; write seconds/, error.message)
      end
    end
    assert_raises(ArgumentError) { cache.get_or_load_many([key], ttl: -1) { flunk "the block works" } }
    assert_raises(ArgumentError) { cache.get_or_load_many([key]) }
    endless = Float::INFINITY
    assert_equal 1, cache.fetch(key, ttl: endless, wait: endless, lease: endless) { 1 }
  end

  on_each :memcached, :tiered, "a thread that is ended as it gets a lease gives it back" do
    Servers.memcached do |address, server|
      store = Larder.open(url("#{address}?timeout=10s"))
      store.get(key("first"))
      Process.kill(:STOP, server)
      thread = Thread.new { store.fetch(key, lease: 60) { "not reached" } }
      thread.report_on_exception = false
      sleep 0.05
      thread.raise(Timeout::Error)
      Process.kill(:CONT, server)
      assert_raises(Timeout::Error) { thread.value }
      started = now
      assert_equal "made", store.fetch(key, wait: 30) { "made" }
      assert_operator now - started, :<, 15, "the next caller waits for nobody"
      store.close
    end
  end

  on_each :memory, :mmap, "an older value stands for one that cannot be made" do
    cache.set(key, "old", ttl: 60)
    cache.expire(key)
    2.times { assert_equal "old", cache.fetch(key) { raise "the source does not answer" } }
    assert_raises(Interrupt) { cache.fetch(key) { raise Interrupt } }
    assert_equal "new", cache.fetch(key) { "new" }
    assert_equal "new", cache.get(key)
    # The same before the end of a TTL.
    cache.set(key, nil, ttl: 60)
    assert_nil cache.fetch(key, early: 120) { raise "the source does not answer" }
    assert_equal "newer", cache.fetch(key, early: 120) { "newer" }
  end

  on_each :memory, :mmap, "who loads needs no older value" do
    unreadable = Class.new do
      def dump(value) = [value.inspect, 90]

      def load(*) = raise("it is not read")
    end
    store = Larder.open(url, serializer: unreadable.new)
    store.set(key, [1])
    assert store.expire(key)
    assert_raises(ZeroDivisionError) { store.fetch(key) { 1 / 0 } }
    assert_equal "new", store.fetch(key) { "new" }
    store.close
  end

  on_each :memory, :mmap, "who finds no room for a lease waits for nobody" do
    number = -1
    assert_raises(Larder::UnavailableError) { loop { cache.send(:_lease, [], key(number += 1), 60, 0) } }
    started = now
    assert_equal "made", cache.fetch(key(number), wait: 30) { "made" }
    assert_operator now - started, :<, 15, "it does not wait"
  end

  on_each :memcached, "a store that fails keeps nobody from a value" do
    address, server = Servers.start_memcached
    store = Larder.open(url("#{address}?timeout=200ms"))
    store.get(key)
    Servers.stop(server)
    server = nil
    assert_equal "made", store.fetch(key, ttl: 60) { "made" }
    assert_equal({ key("a") => 1 }, store.get_or_load_many([key("a"), key("b")]) { |missing| { missing[0] => 1 } })
    store.close
  ensure
    Servers.stop(server) if server
  end

  on_each :mmap, :memcached, :tiered, "a value that the store refuses is returned" do
    2.times { assert_equal 3 << 20, cache.fetch(key) { "x" * (3 << 20) }.bytesize }
    started = now
    assert_equal "small", cache.fetch(key) { "small" }
    assert_operator now - started, :<, 4, "the next caller waits for nobody"
    assert_equal "small", cache.get(key)
  end

  on_each "a change while a value is made wins" do
    next if kind == :tiered # Its tiers may answer from above, for which docs/tiers.md has the rules.

    made = cache.fetch(key) do
      cache.set(key, "newer")
      "older"
    end
    assert_equal "older", made
    assert_equal "newer", cache.get(key)
  end

  on_each "many keys are made in one call" do
    asked = []
    keys = %w[a b c a].map { |more| key(more) }
    cache.set(key("b"), 0)
    made = cache.get_or_load_many(keys, ttl: 60) do |missing|
      asked = missing
      missing.to_h { |absent| [absent, 1] }
    end
    assert_equal [key("a"), key("c")], asked
    assert_equal({ key("a") => 1, key("b") => 0, key("c") => 1 }, made)
    assert_equal made, cache.get_or_load_many(keys) { flunk "all are there" }
    assert_raises(TypeError) { cache.get_or_load_many([key("d")]) { [1] } }
  end
end
