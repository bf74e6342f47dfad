# frozen_string_literal: true

require_relative "../cache"
require_relative "../caches"

module LarderGuest
  module Caches
    # Loads the package, of which `file` is one that the set-up has compiled.
    def self.need_package(file)
      folder = File.dirname(file)
      ENV["LARDER_LIBRARY"] ||= File.expand_path("../lib/liblarder.so.0.2", folder)
      # A package that is installed for this interpreter goes first: it may be the one to measure.
      $LOAD_PATH.push(folder)
      require "larder"
    rescue LoadError => error
      raise Failure.new("unavailable", "Larder's package for Ruby: #{error.message}; ./setup.sh --with library compiles it")
    end

    # Larder's own package: the segment cache in one file, which all processes share. Its own `get`, `delete`, `touch` and
    # `get_many` are called directly. The class is made when the package is there.
    def self.larder
      Class.new(::Larder::Store) do
        include Cache

        # The kinds of failures by those of the package.
        const_set(:KINDS, {
          value_too_large: "too_large", full: "full", timeout: "timeout", io: "io", unavailable: "io",
          key_too_long: "key", invalid_key: "key",
        }.freeze)

        def title = "larder #{::Larder::VERSION}"

        def settings = { "capacity_bytes" => stats[:capacity_bytes].to_s }

        # As the package's own `set` does it with a keyword argument.
        def set(key, value, ttl) = _set(key, value, ttl)

        def failure(error)
          return Failure.of(error) unless error.is_a?(::Larder::Error)

          Failure.new(self.class::KINDS.fetch(error.kind, "other"), error.message)
        end

        def evictions = stats[:evictions]
      end
    end

    # Opens the package's store in the folder of the run.
    module Larder
      def self.opened(order)
        Caches.need_package(order["library"])
        # A guest takes longer keys than the default of `mmap:`.
        options = { "max_key" => "1k", **Caches.given(order, "size", "item_size") }
        said = options.map { |name, value| "#{name}=#{value}" }.join("&")
        store = Caches.larder.new("mmap:#{order["folder"]}/cache?#{said}")
        store.clear if order["fresh"]
        store
      end
    end
  end
end
