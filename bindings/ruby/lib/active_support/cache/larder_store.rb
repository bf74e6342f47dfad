# frozen_string_literal: true

require "larder"
require "active_support"
require "active_support/cache"
require "active_support/core_ext/array/extract_options"
require "active_support/core_ext/enumerable"
require "active_support/core_ext/numeric/time"
# Up to Rails 6.1, this loads the class of a value where it is not loaded yet.
require "active_support/core_ext/marshal" if ActiveSupport::VERSION::MAJOR < 7
require_relative "larder_store/opened"
require_relative "larder_store/raw_local_cache"

module ActiveSupport
  module Cache
    # A store of Larder as a cache of Rails: shared memory, memcached, Redis, or a stack of these, by its URL.
    #
    #   config.cache_store = :larder_store, "tiered:mmap:/run/shop/cache?size=256m|memcached://h1,h2", { expires_in: 1.day }
    #
    # Options are those of ActiveSupport::Cache::Store. All caches of a process with one URL share one store. Where a server
    # does not answer, a read is a miss and a write returns +false+ (from Rails 7.2 on +nil+), as with MemCacheStore.
    class LarderStore < Store
      # Since Rails 7.0 the local cache of a request has serialized entries; before, it has the entries themselves.
      SERIALIZED = Strategy::LocalCache.private_method_defined?(:read_serialized_entry)
      # Since Rails 7.2 a failed write is +nil+, and instruments get the key as it is stored.
      FAILED_WRITE = ActiveSupport.version < Gem::Version.new("7.2") ? false : nil
      # Since Rails 7.1 a missing counter becomes 0 when it is decremented.
      MISSING_DECREMENTED = ActiveSupport.version < Gem::Version.new("7.1") ? nil : 0
      # What no memcached takes in a key is escaped, as MemCacheStore does it. So a key is the same in all tiers of a stack.
      ESCAPE_KEY_CHARS = /[\x00-\x20%\x7F-\xFF]/n
      # The longest key of a memcached.
      LONGEST_KEY = 250
      # The options of a cache, beside those that ActiveSupport lists.
      OPTIONS = (UNIVERSAL_OPTIONS + %i[raw skip_nil expires_at version]).freeze
      # How long an entry stays behind its TTL, for +race_condition_ttl+.
      AFTER_EXPIRY = 5.minutes
      private_constant :SERIALIZED, :FAILED_WRITE, :MISSING_DECREMENTED, :LONGEST_KEY, :OPTIONS, :AFTER_EXPIRY

      # Advertises the versions of keys.
      def self.supports_cache_versioning?
        true
      end

      prepend Strategy::LocalCache
      prepend RawLocalCache unless SERIALIZED

      # Opens the store of a URL. A wrong URL raises; a server that does not answer is asked again at each call.
      def initialize(url, options = nil)
        options = options ? options.dup : {}
        # Each thread has a session of the store, so there is no pool.
        options.delete(:pool) if options[:pool] == false
        unknown = options.keys - OPTIONS
        unless unknown.empty?
          raise ArgumentError, "options #{unknown.inspect} are not known; options of the store stand in its URL, and it has no pool"
        end

        @marshals = options.key?(:coder) && options[:coder].nil?
        super(options)
        @opened = Opened.of(url.to_s)
      end

      # Adds to a counter, which was written with +raw: true+ or is absent; the new number. A value that is no number is +nil+.
      def increment(name, amount = 1, options = nil)
        count(:increment, name, amount, options)
      end

      # Takes from a counter, which stops at 0, as that of a memcached does.
      def decrement(name, amount = 1, options = nil)
        count(:decrement, name, amount, options)
      end

      # Removes every entry of the store, or of the namespace in its URL. A server that Larder did not start is left alone,
      # and so is a stack with one: there it raises.
      def clear(options = nil)
        failsafe(:clear, nil) { @opened.store.clear }
      rescue Larder::UnsupportedError => error
        raise NotImplementedError, "#{self.class.name} does not support clear here: #{error.message}"
      end

      # The counters of the store.
      def stats
        @opened.store.stats
      end

      def inspect
        "#<#{self.class} #{@opened.url} options=#{options.inspect}>"
      end

      private

      def read_entry(key, **options)
        deserialize_entry(read_serialized_entry(key, **options), **options)
      end

      def read_serialized_entry(key, **)
        failsafe(:read_entry, nil) { @opened.store.get(key) }
      end

      def write_entry(key, entry, **options)
        write_serialized_entry(key, serialize_entry(entry, **options), **options)
      end

      def write_serialized_entry(key, payload, unless_exist: false, raw: false, **options)
        payload = bytes_of(payload) unless raw
        ttl = ttl_of(raw: raw, **options)
        failsafe(:write_entry, FAILED_WRITE) do
          @opened.storing(payload) do |value|
            unless_exist ? @opened.store.add(key, value, ttl: ttl) : @opened.store.set(key, value, ttl: ttl)
          end
        end
      end

      def delete_entry(key, **)
        failsafe(:delete_entry, false) { @opened.store.delete(key) }
      end

      def read_multi_entries(names, **options)
        keys = names.to_h { |name| [name, normalize_key(name, options)] }
        found = failsafe(:read_multi_entries, {}) { @opened.store.get_many(keys.values.uniq) }
        keys.each_with_object({}) do |(name, key), values|
          entry = deserialize_entry(found[key], **options)
          next if entry.nil? || entry.expired? || entry.mismatched?(normalize_version(name, options))

          values[name] = entry.value
        end
      end

      def write_multi_entries(entries, **options)
        # The local cache hears of single writes only, and a raw value may need another form.
        return super if local_cache || options[:unless_exist] || options[:raw]

        payloads = entries.transform_values { |entry| bytes_of(serialize_entry(entry, **options)) }
        failsafe(:write_multi_entries, FAILED_WRITE) do
          refused = @opened.store.set_many(payloads, ttl: ttl_of(**options))
          next true if refused.empty?

          raise Larder::RefusedError, "#{refused.length} of #{payloads.length} entries were not stored: #{refused.join(", ")}"
        end
      end

      def delete_multi_entries(keys, **)
        return super if local_cache

        failsafe(:delete_multi_entries, 0) { @opened.store.delete_many(keys) }
      end

      # An entry as ActiveSupport serializes it. A raw value is stored as it is, so that other languages can read it.
      def serialize_entry(entry, raw: false, **options)
        return SERIALIZED ? super(entry, **options) : super(entry) unless raw

        value = entry.value
        return value if value.is_a?(Integer)

        text = value.to_s
        text.ascii_only? || text.encoding == Encoding::UTF_8 ? String.new(text, encoding: Encoding::UTF_8) : text.b
      end

      # The entry of what was stored. Serialized entries are bytes, so text and numbers were stored raw.
      def deserialize_entry(payload, raw: false, **)
        return if payload.nil?
        return Entry.new(text_of(payload), compress: false) if raw || payload.is_a?(Integer)
        return Entry.new(payload, compress: false) if payload.is_a?(String) && payload.encoding != Encoding::BINARY

        payload = Marshal.load(payload) if @marshals && payload.is_a?(String)
        entry = super(payload)
        entry if entry.is_a?(Entry)
      rescue TypeError, ArgumentError, EOFError, Zlib::Error => error
        # Another client may have stored something else under the key. From Rails 7.1 on, most of it is a miss for ActiveSupport, too.
        logger&.error { "LarderStore: an entry cannot be read (#{error.class}): #{error.message}" }
        nil
      end

      # A raw value as text where it is some, as it was before a store without flags took it.
      def text_of(payload)
        text = payload.to_s
        return text unless text.encoding == Encoding::BINARY

        text = text.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.b
      end

      # What a coder has made, as bytes. Without a coder it is the entry itself.
      def bytes_of(payload)
        payload.is_a?(String) ? payload.b : Marshal.dump(payload)
      end

      # The TTL in seconds; +nil+ is for ever.
      def ttl_of(expires_in: nil, expires_at: nil, race_condition_ttl: nil, raw: false, **)
        expires_in ||= expires_at && (expires_at - Time.now)
        return if expires_in.nil?

        # An entry that has expired is kept for a while, because readers may prolong it.
        expires_in += AFTER_EXPIRY if race_condition_ttl && expires_in.positive? && !raw
        [expires_in.to_f, 0].max
      end

      def count(operation, name, amount, options)
        options = merged_options(options)
        key = normalize_key(name, options)
        up = (operation == :increment) == !amount.negative?
        instrument(operation, FAILED_WRITE.nil? ? key : name, amount: amount) do
          failsafe(operation, nil) do
            if up
              @opened.store.incr(key, amount.abs, initial: amount.abs, ttl: ttl_of(raw: true, **options))
            else
              @opened.store.decr(key, amount.abs, initial: MISSING_DECREMENTED, ttl: ttl_of(raw: true, **options))
            end
          end
        end
      end

      def normalize_key(key, options = nil)
        key = super&.b
        return key if key.nil?

        # Most keys need no change, and to look is faster than to replace.
        key.gsub!(ESCAPE_KEY_CHARS) { |match| format("%%%02X", match.getbyte(0)) } if ESCAPE_KEY_CHARS.match?(key)
        return key if key.bytesize <= LONGEST_KEY

        suffix = ":sha256:#{OpenSSL::Digest::SHA256.hexdigest(key)}"
        key.byteslice(0, LONGEST_KEY - suffix.bytesize) + suffix
      end

      # The value of the block, or another one where the store does not answer or takes no value.
      def failsafe(operation, otherwise)
        yield
      rescue Larder::UnavailableError, Larder::RefusedError, Larder::NotANumberError => error
        logger&.error { "LarderStore: #{operation} failed (#{error.class}): #{error.message}" }
        if ActiveSupport.respond_to?(:error_reporter)
          ActiveSupport.error_reporter&.report(error, handled: true, severity: :warning)
        end
        otherwise
      end
    end
  end
end
