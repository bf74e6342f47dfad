# frozen_string_literal: true

# ActiveSupport's own tests of cache stores, on a store of Larder.
#
#   ruby -Ilib suites/active_support_suite.rb RAILS URL
#
# RAILS is a folder with the sources of Rails, as `apt-get source rails` unpacks them: the gem has no tests. Its ActiveSupport
# is the one that is tested with, whichever is installed.

rails, URL = ARGV.shift(2)
abort "usage: ruby -Ilib suites/active_support_suite.rb RAILS URL" unless URL
LIBRARY, TESTS = %w[lib test].map { |folder| File.expand_path("activesupport/#{folder}", rails) }
abort "#{TESTS} is not there; name a folder with the sources of Rails" unless File.directory?(TESTS)
$LOAD_PATH.unshift(LIBRARY)

# These two are loaded first, because a newer or an older Ruby than that of this ActiveSupport does not load them by itself.
require "logger"
require "set"
require "securerandom"
require "active_support"
require "active_support/testing/autorun"
require "active_support/testing/method_call_assertions"
require "active_support/test_case"
require "active_support/cache"
require "active_support/core_ext"
require "active_support/cache/larder_store"

I18n.enforce_available_locales = false
class ActiveSupport::TestCase
  include ActiveSupport::Testing::MethodCallAssertions
end

require File.join(TESTS, "cache/behaviors")

# Tests of ActiveSupport that a store cannot pass, and the reason.
NO_POOL = "each thread has a session of the store, so there is no pool that could be used up"
REASONS = {
  "test_connection_pool" => NO_POOL,
  "test_connection_pool_fetch" => NO_POOL,
  "test_delete_matched" => "a store does not list its keys, so delete_matched is not supported, as with MemCacheStore"
}
if ActiveSupport.version >= Gem::Version.new("7.1")
  REASONS["test_decrement"] = "counters are memcached's and stop at 0; the test allows that to the class MemCacheStore alone"
end
if Gem::Specification.find_all_by_name("msgpack", ">= 1.7").empty?
  REASONS["test_serializer_can_be_:message_pack"] = "the gem msgpack 1.7 is not installed"
end
if URL.include?("memcached://") || URL.include?("redis://")
  REASONS["test_clear_also_clears_local_cache"] = "a server that Larder did not start is never emptied; clear raises"
  REASONS["test_clear_with_nil_options"] = REASONS["test_clear_also_clears_local_cache"]
end

# Has reads of some keys take long, where a test asks for it.
module Latency
  class << self
    attr_accessor :emulated
  end

  def get(key, *default)
    sleep 3 if Latency.emulated && key.include?("latency")
    super
  end
end
Larder::Store.prepend(Latency)

class LarderStoreTest < ActiveSupport::TestCase
  # A port of this host on which nobody listens.
  UNAVAILABLE = "memcached://127.0.0.1:1"
  BEHAVIORS = %i[
    CacheStoreBehavior CacheStoreVersionBehavior CacheStoreCoderBehavior CacheStoreCompressionBehavior
    CacheStoreSerializerBehavior CacheStoreFormatVersionBehavior LocalCacheBehavior CacheIncrementDecrementBehavior
    CacheInstrumentationBehavior CacheLoggingBehavior EncodedKeyCacheBehavior AutoloadingCacheBehavior
    ConnectionPoolBehavior FailureSafetyBehavior CacheDeleteMatchedBehavior
  ].freeze
  BEHAVIORS.each { |name| include Object.const_get(name) if Object.const_defined?(name) }

  REASONS.each do |name, reason|
    define_method(name) { skip reason } if method_defined?(name)
  end

  setup do
    @namespace = "test-#{SecureRandom.hex}"
    @cache = lookup_store(expires_in: 60)
    @peek = lookup_store
    @cache.logger = ActiveSupport::Logger.new(File::NULL)
  end

  def lookup_store(options = {})
    ActiveSupport::Cache.lookup_store(*store, { namespace: @namespace }.merge(options))
  end

  private

  def store
    [:larder_store, URL]
  end

  def emulating_latency
    Latency.emulated = true
    yield
  ensure
    Latency.emulated = false
  end

  def emulating_unavailability
    yield ActiveSupport::Cache::LarderStore.new(UNAVAILABLE)
  end
end
