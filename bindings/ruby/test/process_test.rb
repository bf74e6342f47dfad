# frozen_string_literal: true

require "timeout"
require_relative "support"

# Threads, forked children, and processes that are killed.
class ProcessTest < StoreCase
  on_each "threads share a store" do
    store = cache
    threads = Array.new(8) do |number|
      Thread.new do
        200.times do |n|
          store.set(key(number), n)
          raise "wrong value" unless store.get(key(number)) == n
        end
      end
    end
    threads.each(&:join)
    assert_equal [199] * 8, Array.new(8) { |number| cache.get(key(number)) }
  end

  on_each "each Ractor has stores of its own" do
    warned = Warning[:experimental]
    Warning[:experimental] = false
    ractors = Array.new(2) do |number|
      Ractor.new(url, key(number)) do |at, name|
        Larder.open(at) do |store|
          store.set_many({ name => [1], "#{name}text" => "text" })
          100.times { raise "wrong value" if store.get_many([name]) != { name => [1] } }
          refused = begin
            store.get("k" * 70_000)
          rescue Larder::UsageError => error
            error.kind
          end
          [store.fetch("#{name}#{name}") { "made" }, store.incr("#{name}n", initial: 1), refused, store.stats.key?(:hits)]
        end
      end
    end
    ends = ractors.map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    assert_equal [["made", 1, :key_too_long, true]] * 2, ends
  ensure
    Warning[:experimental] = warned
  end

  on_each "a daemon uses the store of the process that it was" do
    cache.set(key, "before")
    read, write = IO.pipe
    child = fork do
      Process.daemon(true, true)
      write << [cache.get(key), cache.fetch(key("other")) { "made" }].join(",")
      write.close
      exit!
    end
    write.close
    Process.wait(child)
    assert_equal "before,made", read.read
    assert_equal "before", cache.get(key)
  ensure
    read&.close
  end

  on_each "a child uses the store of its parent" do
    cache.set(key, "parent")
    found = in_child do
      seen = Array.new(3) { cache.get(key) }
      cache.set(key("child"), 1)
      # Threads of the child have sessions of the child.
      seen + Array.new(2) { Thread.new { cache.get(key) } }.map(&:value)
    end
    assert_equal ["parent"] * 5, found
    # The parent's connections are as they were.
    3.times { assert_equal "parent", cache.get(key) }
    expected = kind == :memory ? nil : 1
    expected.nil? ? assert_nil(cache.get(key("child"))) : assert_equal(expected, cache.get(key("child")))
    assert_nil in_child { cache.close }
    assert_equal "parent", cache.get(key)
    assert_equal ["parent"] * 2, in_child { [cache.get(key), in_child { cache.get(key) }] }
    # A child that never used the store ends without a word to it.
    assert_equal 1, in_child { 1 }
    assert_equal "parent", cache.get(key)
  end

  on_each "a child is forked while other threads use the store" do
    cache.set(key, 1)
    ending = false
    threads = Array.new(2) { Thread.new { cache.get(key) until ending } }
    5.times { assert_equal [1] * 20, in_child { Array.new(20) { cache.get(key) } } }
    ending = true
    threads.each(&:join)
    assert_equal 1, cache.get(key)
  end

  # A serializer that forks while it reads its first value, and has the child use the store at once.
  class Forking
    attr_reader :child
    attr_accessor :use

    def dump(value) = [value.inspect, 90]

    def load(bytes, _flags)
      return bytes if defined?(@child)

      @child = fork
      @use.call unless @child
      bytes
    end
  end

  on_each "a child that is forked within a call goes on with sessions of its own" do
    forking = Forking.new
    store = Larder.open(url, serializer: forking)
    store.set_many({ key => [1], key("other") => "text" })
    forking.use = -> { store.get(key("other")) }
    test = Process.pid
    found = store.get_many([key]).values + Array.new(2) { store.get(key("other")) }
    store.close
    exit!(found == ["[1]", "text", "text"]) if Process.pid != test
    assert_equal ["[1]", "text", "text"], found
    assert_predicate Process.wait2(forking.child)[1], :success?
  ensure
    exit!(false) if Process.pid != test
  end

  # What a writer stores: a number, many times over, so that a value of two writes can be told.
  def self.value_of(number)
    "#{number};" * 200
  end

  on_each :mmap, :memcached, :tiered, "a killed process breaks nothing" do
    random = Random.new(26)
    test = Process.pid
    6.times do |round|
      writers = Array.new(2) do
        fork do
          (0..).each do |n|
            # Tests that are killed leave no writer behind.
            exit! if Process.ppid != test

            cache.set(key(n % 20), ProcessTest.value_of(n))
            cache.fetch(key("fetched#{round}"), ttl: 60, lease: 0.5) { ProcessTest.value_of(n) }
            cache.delete(key(n % 7))
          end
        end
      end
      await("the writers write") { cache.key?(key(19)) }
      sleep random.rand(0.05)
      writers.each { |writer| Process.kill(:KILL, writer) && Process.wait(writer) }
      (0...20).each do |n|
        value = cache.get(key(n)) or next
        assert_equal ProcessTest.value_of(value[/\d+/]), value
      end
      assert_match(/\A\d+;/, cache.fetch(key("fetched#{round}"), ttl: 60, lease: 0.5) { "0;" })
      cache.set(key, round)
      assert_equal round, cache.get(key)
      cache.delete(key(19))
    end
  end

  on_each :memcached, :tiered, "other threads run while a call waits" do
    Servers.memcached do |address, server|
      Larder.open("memcached://#{address}") { |below| below.set(key, 1) }
      store = Larder.open(url("#{address}?timeout=10s"))
      Process.kill(:STOP, server)
      asked = Queue.new
      waiting = Thread.new do
        asked << true
        store.get(key)
      end
      asked.pop
      sleep 0.05
      # If this thread did not run now, the call would end without a value.
      Process.kill(:CONT, server)
      assert_equal 1, waiting.value
      store.close
    end
  end

  on_each :memcached, "a thread that is killed while its session is opened loses no session" do
    Servers.memcached do |address, server|
      store = Larder.open(url(address))
      store.set(key, 1)
      Process.kill(:STOP, server)
      threads = Array.new(3) { Thread.new { store.get(key) } }
      sleep 0.1
      threads.each(&:kill)
      Process.kill(:CONT, server)
      threads.each(&:join)
      assert_equal 1, store.get(key)
      store.close
      await("only the connection of this test is left") { Servers.stats(address)["curr_connections"] == "1" }
    end
  end

  # Reads from a server that does not answer. A Timeout may end it, too.
  def fails(store)
    store.get(key)
  rescue Larder::UnavailableError
    true
  end

  on_each :memcached, "a killed thread loses no session" do
    Servers.memcached do |address, server|
      store = Larder.open(url("#{address}?timeout=200ms"))
      store.set(key, 1)
      Process.kill(:STOP, server)
      3.times do
        assert_raises(Timeout::Error) { Timeout.timeout(0.05) { fails(store) && sleep } }
        thread = Thread.new { fails(store) }
        sleep 0.02
        thread.kill.join
      end
      Process.kill(:CONT, server)
      assert_equal 1, store.get(key)
      # A lost session would keep its connection, and would keep the store open.
      store.close
      await("only the connection of this test is left") { Servers.stats(address)["curr_connections"] == "1" }
    end
  end

  on_each :memcached, :tiered, "a server that ends is told and comes back" do
    address, server = Servers.start_memcached
    store = Larder.open(url(address))
    store.set(key, 1)
    Servers.stop(server)
    server = nil
    asking = -> { 3.times { store.get(key("absent")) } }
    if kind == :tiered
      asking.call
    else
      assert_includes %i[unavailable io timeout], assert_raises(Larder::UnavailableError, &asking).kind
    end
    port = Integer(address[/\d+\z/])
    _, server = Servers.start_memcached(port)
    await("the store is connected again") { store.set(key, 2) rescue false }
    assert_equal 2, store.get(key)
  ensure
    store&.close
    Servers.stop(server) if server
  end

  on_each "a store is closed while threads use it" do
    cache.set(key, 1)
    threads = Array.new(4) do
      Thread.new do
        loop { cache.get(key) }
      rescue Larder::Error => error
        error.message
      end
    end
    sleep 0.02
    cache.close
    threads.each { |thread| assert_match(/closed/, thread.value) }
  end

  on_each "stores that nobody holds are closed" do
    20.times do |n|
      store = Larder.open(url)
      store.set(key, n)
    end
    GC.start
    open = Dir.children("/proc/self/fd").length
    20.times { Larder.open(url).get(key) }
    5.times { GC.start }
    assert_operator Dir.children("/proc/self/fd").length, :<, open + 15
  end
end
