# frozen_string_literal: true

require_relative "failure"

module LarderGuest
  # The caches of this guest. The file of a cache is loaded when it is asked for, for its library may not be installed.
  module Caches
    FILES = {
      "null" => "null", "hash" => "hash", "memorystore" => "memory_store", "filestore" => "file_store",
      "dalli" => "dalli", "tiered" => "tiered", "larder" => "larder",
    }.freeze

    # Opens the cache that open.json, or a tier in it, describes.
    def self.open(order)
      name = order["cache"]
      file = FILES[name] || raise(Failure.new("protocol", "unknown cache: #{name}; known: #{FILES.keys.join(", ")}"))
      require_relative "caches/#{file}"
      open_cache(order)
    end

    # Loads a library, which may not be installed.
    def self.need(*libraries)
      libraries.each { |library| require library }
    rescue LoadError
      raise Failure.new("unavailable", "the Ruby library #{libraries.first} is not installed: ./setup.sh --with ruby")
    end

    def self.open_cache(order)
      name = order["cache"]
      const_get(FILES.fetch(name).split("_").map(&:capitalize).join).opened(order)
    end
    private_class_method :open_cache

    # The options that the user has set.
    def self.given(order, *names) = (order["options"] || {}).slice(*names).compact
  end
end
