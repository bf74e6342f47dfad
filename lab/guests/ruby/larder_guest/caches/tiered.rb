# frozen_string_literal: true

require_relative "../cache"
require_relative "../caches"

module LarderGuest
  module Caches
    # Caches behind one another. A get asks the nearest tier, then the next, and fills the nearer tiers with its value.
    # A set goes through all tiers, the farthest first. A nearer tier loses the key of a value that it refuses, so that
    # it has no older value than the tiers behind it.
    class Tiered
      include Cache

      NOTHING = { hits: 0, misses: 0, fills: 0, refused: 0 }.freeze

      def self.opened(order)
        tiers = order["tiers"].map { |tier| { **tier, "fresh" => order["fresh"] } }
        raise Failure.new("protocol", "a tiered cache has two tiers or more") if tiers.length < 2

        new(tiers.map { |tier| tier["cache"] }, tiers.map { |tier| Caches.open(tier) })
      end

      # `shortest` is the shortest TTL of all sets so far.
      def initialize(names, caches, shortest = nil)
        @names = names
        @caches = caches
        @far = caches.length - 1
        @shortest = shortest
        tier_counts
        expect_ttl(nil)
      end

      def title = @caches.map(&:title).join(" before ")

      def settings
        @caches.each.with_index(1).with_object({}) do |(cache, tier), settings|
          cache.settings.each { |name, setting| settings["l#{tier}.#{name}"] = setting }
        end
      end

      def get(key)
        n = 0
        while n <= @far
          value = @caches[n].get(key)
          unless value.nil?
            @counts[n][:hits] += 1
            fill(n, key, value) unless n.zero?
            return value
          end
          @counts[n][:misses] += 1
          n += 1
        end
        nil
      end

      def get_many(keys)
        found = {}
        @caches.each_with_index do |cache, n|
          here = cache.get_many(keys)
          @counts[n][:hits] += keys.count { |key| here.key?(key) }
          keys = keys.reject { |key| here.key?(key) }
          @counts[n][:misses] += keys.length
          here.each { |key, value| fill(n, key, value) } unless n.zero?
          found.merge!(here)
          break if keys.empty?
        end
        found
      end

      # The nearer tiers lose the key of a value that the farthest tier refused or raised at. Each tier is asked, even
      # if an earlier tier raised.
      def set(key, value, ttl)
        raised = nil
        begin
          stored = @caches[@far].set(key, value, ttl[@far])
        rescue StandardError => e
          raised = e
        end
        @counts[@far][:refused] += 1 unless stored
        (@far - 1).downto(0) do |n|
          stored ? keep(n, key, value, ttl[n]) : @caches[n].delete(key)
        rescue StandardError => e
          raised ||= e
        end
        raise raised if raised

        stored
      end

      # The key was there if any tier had it, and is gone if no tier failed.
      def delete(key)
        raised = nil
        found = false
        @caches.reverse_each do |cache|
          found |= cache.delete(key) ? true : false
        rescue StandardError => e
          raised ||= e
        end
        raise raised if raised

        found
      end

      def touch(key, ttl) = @far.downto(0).map { |n| @caches[n].touch(key, ttl[n]) }.first

      # Each tier has its own form of a TTL.
      def ttl_argument(seconds) = @caches.map { |cache| cache.ttl_argument(seconds) }

      # A fill begins a TTL again, for the time left in the farther tier is unknown. It is the shortest TTL of all sets
      # so far: without one, a key that has a TTL could stay in the nearer tier for ever.
      def expect_ttl(seconds)
        @shortest = [@shortest, seconds].compact.min
        @fill_ttl = ttl_argument(@shortest)
      end

      def after_fork = Tiered.new(@names, @caches.map(&:after_fork), @shortest)

      # A miss in all tiers may be a failure of the farthest tier.
      def doubts? = @caches[@far].doubts?

      def failure_of_miss(key) = @caches[@far].failure_of_miss(key)

      def failure(error) = @caches[@far].failure(error)

      # The farthest tier decides whether a value is stored.
      def refusal(key, value, answer)
        failure = @caches[@far].refusal(key, value, answer)
        Failure.new(failure.kind, "#{@names[@far]}: #{failure.message}")
      end

      # The evictions of the farthest tier, which has all entries: an entry that a nearer tier drops is not lost.
      def evictions = @caches.map(&:evictions).last

      def connections
        opened = @caches.map(&:connections)
        opened.include?(nil) ? nil : opened.sum
      end

      def tier_counts
        counts = @names.zip(@counts || []).map { |name, count| { name: name, **(count || NOTHING) } }
        @counts = @caches.map { NOTHING.dup }
        counts
      end

      private

      # Stores the value of tier `behind` in the tiers before it.
      def fill(behind, key, value)
        (behind - 1).downto(0) { |n| @counts[n][:fills] += 1 if keep(n, key, value, @fill_ttl[n]) }
      end

      # A tier that raised at a value may still have the older value, so it deletes the key.
      def keep(n, key, value, ttl)
        begin
          return true if @caches[n].set(key, value, ttl)
        rescue StandardError => e
          raised = e
        end
        @counts[n][:refused] += 1
        @caches[n].delete(key)
        raise raised if raised

        false
      end
    end
  end
end
