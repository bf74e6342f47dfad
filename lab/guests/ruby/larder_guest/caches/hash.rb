# frozen_string_literal: true

require_relative "../cache"

module LarderGuest
  module Caches
    # A plain Hash: the cache that most programs begin with. It keeps the very objects that it is given, in the memory
    # of this process. Each entry has its expiry time, by the monotonic clock; an expired entry is removed when its key
    # is asked for. Nothing bounds the cache.
    class Hash
      include Cache

      def self.opened(_order) = new

      def initialize
        @entries = {}
      end

      def title = "Hash"

      def get(key)
        value, expires = @entries[key]
        return value if expires.nil? || now < expires

        @entries.delete(key)
        nil
      end

      def set(key, value, ttl)
        @entries[key] = [value, ttl && now + ttl]
        true
      end

      def delete(key)
        entry = @entries.delete(key)
        !entry.nil? && (entry[1].nil? || now < entry[1])
      end

      def touch(key, ttl)
        value = get(key)
        !value.nil? && set(key, value, ttl)
      end

      # It drops nothing to make room.
      def evictions = 0

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
