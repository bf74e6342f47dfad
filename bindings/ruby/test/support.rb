# frozen_string_literal: true

require "fileutils"
require "larder"
require "minitest/autorun"
require "tmpdir"
require_relative "servers"

# Tests of stores: in memory, in a file, on a real memcached, and in a stack of the last two.
class StoreCase < Minitest::Test
  KINDS = %i[memory mmap memcached tiered].freeze

  # Defines a test for each kind of store.
  def self.on_each(*kinds, text, &block)
    (kinds.empty? ? KINDS : kinds).each do |kind|
      define_method("test_#{text.tr(" ", "_")}__#{kind}") do
        @kind = kind
        @cache = Larder.open(url)
        instance_exec(&block)
      end
    end
  end

  # The address of the memcached of all tests, which ends with them.
  def self.memcached
    @@memcached ||= begin
      address, process = Servers.start_memcached
      Minitest.after_run { Servers.stop(process) }
      address
    end
  end

  attr_reader :folder, :kind

  def setup
    @folder = Dir.mktmpdir("larder-ruby", File.directory?("/dev/shm") ? "/dev/shm" : nil)
    @key = "#{self.class}-#{name}-#{now}"
  end

  def teardown
    @cache&.close
    FileUtils.remove_entry(folder)
  end

  # The URL of an empty store, but for the keys that other tests have left on their memcached.
  def url(memcached = nil)
    file = "mmap:#{folder}/cache?size=8m"
    case kind
    when :memory then "memory:?size=8m"
    when :mmap then file
    when :memcached then "memcached://#{memcached || StoreCase.memcached}"
    when :tiered then "tiered:#{file}|memcached://#{memcached || StoreCase.memcached}"
    end
  end

  # The open store of this test.
  attr_reader :cache

  # A key of this test alone.
  def key(more = nil)
    "#{@key}#{more}"
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # Waits until something holds.
  def await(what, seconds: 30)
    limit = now + seconds
    until yield
      flunk "#{what}: not within #{seconds} s" if now > limit
      sleep 0.005
    end
  end

  # Does some work in a forked child, which ends in order; what the work returns.
  def in_child
    read, write = IO.pipe(binmode: true)
    child = fork do
      answer = begin
        yield
      rescue StandardError => error
        "raised #{error.inspect}"
      end
      write << Marshal.dump(answer)
      write.close
      exit
    end
    write.close
    answer = Marshal.load(read.read)
    assert_predicate Process.wait2(child)[1], :success?
    answer
  ensure
    read&.close
  end
end
