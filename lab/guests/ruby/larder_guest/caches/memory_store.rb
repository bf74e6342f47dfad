# frozen_string_literal: true

require_relative "active_support"

module LarderGuest
  module Caches
    # ActiveSupport's MemoryStore, in the memory of this process. Once the sizes of all entries exceed `size`, it drops
    # the least recently used ones until three quarters are left. It copies the value at each read and write.
    class MemoryStore < ActiveSupport::Cache::MemoryStore
      include ActiveSupportStore

      def self.opened(order)
        new(compress: false, **Caches.given(order, "size", "max_prune_time").transform_keys(&:to_sym))
      end

      def initialize(options = nil)
        super
        @expired = @dropped = 0
        # What is left when the store has made room, less the store's own bytes of an entry.
        @largest = (@max_size * 0.75).to_i - PER_ENTRY_OVERHEAD
      end

      def settings
        {
          "size" => @max_size.to_s,
          "max_prune_time" => "#{@max_prune_time} s",
          "largest_entry" => @largest.to_s,
          "when_full" => "drops the least recently used entries until 3/4 are left",
          "compression" => "off",
        }
      end

      alias get read

      # An entry that is too large is dropped again at once, with all others, though `write` says that it was stored.
      def set(key, value, ttl)
        write(key, value, ttl) && (key.bytesize + value.bytesize <= @largest || exist?(key))
      end

      def refusal(key, value, _answer)
        bytes = key.bytesize + value.bytesize
        Failure.new("too_large", "key and value of #{bytes} bytes are larger than largest_entry, #{@largest} bytes")
      end

      def evictions
        dropped = @dropped
        @dropped = 0
        dropped
      end

      # Counts the entries that it drops to make room. It removes expired entries first.
      def prune(target_size, max_time = nil)
        return if pruning?

        before = @data.size
        expired = @expired
        super
        @dropped += before - @data.size - (@expired - expired)
      end

      def cleanup(options = nil)
        before = @data.size
        super
        @expired += before - @data.size
      end
    end
  end
end
