# frozen_string_literal: true

module ActiveSupport
  module Cache
    class LarderStore < Store
      # Up to Rails 6.1, the local cache of a request keeps entries. A raw value is kept as it would come back from the store.
      module RawLocalCache
        private

        def write_entry(key, entry, **options)
          return super unless options[:raw] && local_cache

          raw = Entry.new(entry.value.to_s, compress: false)
          raw.expires_at = entry.expires_at
          super(key, raw, **options)
        end
      end
      private_constant :RawLocalCache
    end
  end
end
