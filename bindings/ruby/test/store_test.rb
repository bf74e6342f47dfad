# frozen_string_literal: true

require_relative "support"

class StoreTest < StoreCase
  VALUES = [
    "".b, "\x00bytes\xFF".b, "", "text, ä", 0, 7, -(10**30), 1.5, true, false, nil, [1, "a", nil], { "a" => { "b" => [2] } }
  ].freeze

  on_each "values come back as they were" do
    VALUES.each do |value|
      cache.set(key, value)
      found = cache.get(key, :absent)
      value.nil? ? assert_nil(found) : assert_equal(value, found)
      assert_equal value.encoding, found.encoding if value.is_a?(String)
    end
  end

  on_each "large values come back as they were" do
    [4095, 4096, 4097, 500_000].each do |length|
      value = Random.new(length).bytes(length)
      cache.set(key, value)
      assert_equal value, cache.get(key)
      assert_equal({ key => value }, cache.get_many([key]))
    end
  end

  on_each "encodings tell text and bytes apart" do
    cache.set(key, "ascii".encode("US-ASCII"))
    assert_equal Encoding::UTF_8, cache.get(key).encoding
    cache.set(key, "broken \xFF")
    assert_equal "broken \xFF".b, cache.get(key)
    error = assert_raises(Encoding::CompatibilityError) { cache.set(key, "ä".encode("ISO-8859-1")) }
    assert_match(/ISO-8859-1; write value.encode/, error.message)
  end

  on_each "what is read belongs to the reader" do
    cache.set(key, "frozen")
    cache.get(key) << " and changed"
    assert_equal "frozen", cache.get(key)
  end

  on_each "symbols become text" do
    cache.set(:"#{key}", { name: :Ada })
    assert_equal({ "name" => "Ada" }, cache.get(key))
  end

  on_each "an absent key is the default" do
    assert_nil cache.get(key)
    assert_equal "default", cache.get(key, "default")
    refute cache.key?(key)
    assert_equal [nil, nil], cache.gets(key)
  end

  on_each "conditions hold" do
    refute cache.replace(key, 1)
    assert cache.add(key, 1)
    refute cache.add(key, 2)
    assert cache.replace(key, 3)
    assert_equal 3, cache.get(key)
    assert cache.key?(key)
    assert cache.delete(key)
    refute cache.delete(key)
  end

  on_each "a version serves once" do
    cache.set(key, "old")
    value, version = cache.gets(key)
    assert_equal "old", value
    next assert_nil(version, "the tiers of a stack have versions of their own") if kind == :tiered

    assert cache.cas(key, "new", version)
    refute cache.cas(key, "late", version)
    assert_equal "new", cache.get(key)
  end

  on_each "numbers are counted" do
    assert_nil cache.incr(key)
    assert_equal 10, cache.incr(key, 5, initial: 10)
    assert_equal 15, cache.incr(key, 5)
    assert_equal 0, cache.decr(key, 20)
    assert_equal (2**64) - 1, cache.incr(key, (2**64) - 1)
    cache.set(key, 41)
    assert_equal 42, cache.incr(key)
    assert_equal 42, cache.get(key)
    cache.set(key, "text")
    error = assert_raises(Larder::NotANumberError) { cache.incr(key) }
    assert_equal :not_a_number, error.kind
  end

  on_each "entries expire" do
    cache.set(key, "gone", ttl: 1)
    cache.set(key("stays"), "stays", ttl: 3600r)
    assert cache.touch(key("stays"), 7200)
    refute cache.touch(key("absent"), 5)
    await("the entry is gone") { !cache.key?(key) }
    assert_equal "stays", cache.get(key("stays"))
    cache.set(key("over"), 1, ttl: 0)
    refute cache.key?(key("over"))
  end

  on_each "many keys in one call" do
    values = (0...50).to_h { |number| [key(number), [number, number.to_s]] }
    assert_empty cache.set_many(values, ttl: 60)
    assert_equal values, cache.get_many([*values.keys, key("absent")])
    assert_equal 10, cache.delete_many([*values.keys.first(10), key("absent")])
    assert_equal 40, cache.get_many(values.keys).length
    assert_empty cache.get_many([])
    assert_empty cache.set_many({})
    assert_equal 0, cache.delete_many([])
  end

  on_each "wrong use is told" do
    assert_match(/a key is a String or a Symbol, not Integer/, assert_raises(TypeError) { cache.get(7) }.message)
    point_in_time = Class.new { def to_f = Time.now.to_f }
    ["soon", Time.now, point_in_time.new, Object.new].each do |ttl|
      assert_match(/ttl is a #{ttl.class}; write seconds/, assert_raises(TypeError) { cache.set(key, 1, ttl: ttl) }.message)
    end
    [-1, Float::NAN].each do |ttl|
      assert_match(/ttl is #{ttl}; write/, assert_raises(ArgumentError) { cache.set(key, 1, ttl: ttl) }.message)
    end
    assert_match(/a Object, which JSON cannot hold/, assert_raises(TypeError) { cache.set(key, [Object.new]) }.message)
    assert_match(/the key 1, and JSON has text/, assert_raises(TypeError) { cache.set(key, { 1 => 2 }) }.message)
    [-1, 2**64].each { |delta| assert_raises(ArgumentError) { cache.incr(key, delta) } }
    assert_raises(TypeError) { cache.incr(key, 1.5) }
    error = assert_raises(Larder::UsageError) { cache.get("k" * 70_000) }
    assert_equal :key_too_long, error.kind
    assert_nil cache.get(key)
  end

  def test_wrong_urls_are_told
    assert_match(/unknown engine/, assert_raises(Larder::UsageError) { Larder.open("memcache:") }.message)
    assert_match(/size/, assert_raises(Larder::UsageError) { Larder.open("memory:?size=huge") }.message)
    assert_match(/refused/, assert_raises(Larder::UnavailableError) { Larder.open("memcached://127.0.0.1:1") }.message)
    assert_raises(ArgumentError) { Larder.open("memory:\0") }
  end

  on_each "a closed store says so" do
    closed = Larder.open(url) { |store| store.tap { store.set(key, 1) } }
    closed.close
    assert_predicate closed, :closed?
    [-> { closed.get(key) }, -> { closed.set(key, 1) }, -> { closed.stats }, -> { closed.get_many([key]) }].each do |call|
      assert_match(/closed/, assert_raises(Larder::Error) { call.call }.message)
    end
    assert_match(/closed>/, closed.inspect)
  end

  on_each :memory, :mmap, "a store is emptied" do
    cache.set(key, 1)
    cache.clear
    refute cache.key?(key)
  end

  on_each :memcached, :tiered, "a server of others is not emptied" do
    cache.set(key, 1)
    assert_raises(Larder::UnsupportedError) { cache.clear }
    assert cache.key?(key)
  end

  on_each "counters and the URL are told" do
    cache.set(key, 1)
    cache.get(key)
    assert_operator cache.stats[:hits], :>=, 1
    assert_equal url, cache.url
    assert_equal %i[memcached tiered].include?(kind), cache.waits?
  end

  # A serializer that has Ruby's collector move every object that may be moved, at the last of eight values.
  class Moving
    FLAGS = 90

    def dump(value)
      GC.verify_compaction_references(toward: :empty, double_heap: true) if value == [7]
      [value.inspect, FLAGS]
    end

    def load(bytes, _flags) = bytes
  end

  on_each :mmap, :memcached, "a collector that moves objects moves no argument" do
    store = Larder.open(url, serializer: Moving.new)
    values = (0...8).to_h { |n| ["#{key}#{n}"[-20..], [n]] }
    assert_empty store.set_many(values)
    assert_equal values.transform_values(&:inspect), store.get_many(values.keys)
    store.close
  end

  # A serializer that changes the Strings which are stored beside its value.
  class Changing
    def initialize(strings)
      @strings = strings
    end

    def dump(value)
      @strings.each(&:upcase!)
      [value.inspect, 90]
    end

    def load(bytes, _flags) = bytes
  end

  on_each "a batch stores what its Strings were when it was called" do
    name = +"#{key}#{"k" * 100}"[-100..]
    text = "v" * 100
    # A Hash has copies of its keys, unless it compares them by identity.
    values = {}.compare_by_identity
    values[name] = text
    values["#{key}2"] = [1]
    store = Larder.open(url, serializer: Changing.new([name, text]))
    assert_empty store.set_many(values)
    assert_equal "v" * 100, store.get("#{key}#{"k" * 100}"[-100..])
    assert_equal "V" * 100, text
    store.close
  end

  on_each :mmap, "a batch is read under the keys that it was called with" do
    keys = [key("a"), key("b")]
    clearing = Changing.new([])
    clearing.define_singleton_method(:load) { |bytes, _flags| keys.clear && bytes }
    store = Larder.open(url, serializer: clearing)
    store.set_many({ key("a") => [1], key("b") => [2] })
    assert_equal({ key("a") => "[1]", key("b") => "[2]" }, store.get_many(keys))
    store.close
  end

  def test_a_store_without_flags_takes_bytes
    address, server = Servers.start_redis
    Larder.open("redis://#{address}") do |store|
      store.set("key", "bytes\xFF".b, ttl: 60)
      assert_equal "bytes\xFF".b, store.get("key")
      assert_equal 2, [store.incr("n", initial: 1), store.incr("n")].last
      assert_equal "made".b, store.fetch("made", ttl: 60) { "made".b }
      error = assert_raises(Larder::UnsupportedError) { store.set("key", "text") }
      assert_match(/write value.b/, error.message)
      assert_equal ["key"], store.set_many({ "key" => "text", "other" => "bytes".b })
    end
  ensure
    Servers.stop(server) if server
  end

  def test_a_password_is_not_shown
    store = Larder::Store.allocate
    store.instance_variable_set(:@url, "tiered:memory:|redis://user:secret@h1,h2/1")
    assert_equal "tiered:memory:|redis://user:***@h1,h2/1", store.url
    store.instance_variable_set(:@url, "redis://:sec:r@t@h1,h2:7000/1")
    assert_equal "redis://:***@h1,h2:7000/1", store.url
    assert_match(/not open/, assert_raises(Larder::Error) { store.get("key") }.message)
  end

  on_each :mmap, "processes share a file" do
    other = Larder.open(url)
    cache.set("key", { "a" => 1 })
    assert_equal({ "a" => 1 }, other.get("key"))
    other.close
  end

  on_each :mmap, "what a stack of Python has loaded is read" do
    loaded = Class.new do
      def dump(value) = [[16].pack("N") << value.bytes.pack("C*"), 128]

      def load(*) = raise("it is no value of this serializer")
    end
    written = Class.new(String)
    Larder.open(url, serializer: loaded.new) { |store| store.set("key", written.new("täxt")) }
    assert_equal "täxt", cache.get("key")
  end
end

class SerializersTest < StoreCase
  SECRET = "a secret of the tests"

  def test_a_signed_marshal_takes_objects_and_nobody_elses
    signed = Larder::SignedMarshal.new(SECRET)
    cache = Larder.open("memory:?size=1m", serializer: signed)
    value = { range: 1..2, time: Time.at(0), text: "text" }
    cache.set("key", value)
    assert_equal value, cache.get("key")
    data, flags = Larder::SignedMarshal.new("another secret of tests").dump({ 3 => 4 })
    assert_match(/no valid signature/, assert_raises(ArgumentError) { signed.load(data, flags) }.message)
    ["", "short", data[0, 32]].each { |bytes| assert_raises(ArgumentError) { signed.load(bytes, flags) } }
    assert_match(/take 16 random bytes/, assert_raises(ArgumentError) { Larder::SignedMarshal.new("short") }.message)
    refute_match(/secret/, signed.inspect)
  end

  on_each :mmap, "a serializer reads its own values only" do
    cache.set("key", [1])
    error = assert_raises(ArgumentError) do
      Larder.open(url, serializer: Larder::SignedMarshal.new(SECRET)) { |store| store.get("key") }
    end
    assert_match(/the flags 32/, error.message)
    # The session of the failed call serves again.
    assert_equal [1], cache.get("key")
  end

  def test_json_refuses_what_would_come_back_as_something_else
    json = Larder::Json.new
    [Time.now, 1r, Object, { a: [1i] }, ["ä".b], { "ä".b => 1 }].each { |value| assert_raises(TypeError) { json.dump(value) } }
    assert_raises(JSON::GeneratorError) { json.dump([Float::NAN]) }
    assert_equal '["ascii"]', json.dump(["ascii".b])[0]
  end
end
