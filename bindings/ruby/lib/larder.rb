# frozen_string_literal: true

require_relative "larder/version"
require_relative "larder/errors"
require_relative "larder/serializers"
require "larder/larder_ext"
require_relative "larder/store"
require_relative "larder/loading"

# Larder's caches: in memory, in a file that processes share, in memcached or Redis, or in a stack of these.
#
#   cache = Larder.open("mmap:/run/shop/cache?size=256m")
#   cache.set("user:7", {"name" => "Ada"}, ttl: 300)
#   cache.get("user:7") # => {"name" => "Ada"}
module Larder
  # Opens the cache of a URL. Strings and whole numbers are stored as they are. The serializer stores every other value:
  # JSON without one. With a block, the store is closed behind it, and the value of the block is returned.
  def self.open(url, serializer: Json.new)
    store = Store.new(url, serializer: serializer)
    return store unless block_given?

    begin
      yield store
    ensure
      store.close
    end
  end
end
