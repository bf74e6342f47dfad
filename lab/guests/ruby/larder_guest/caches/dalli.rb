# frozen_string_literal: true

require_relative "../cache"
require_relative "../caches"

module LarderGuest
  module Caches
    need "dalli"

    # Dalli, one client object for all operations; its own `get` is called directly. It speaks the binary protocol. It
    # tries a failed operation again after 0.1 seconds, and then asks the server no more for `down_retry_delay`.
    class Dalli < ::Dalli::Client
      include Cache

      # The server's own limit counts, so the client's limit of 1 MiB is out of the way.
      ENDLESS = 1 << 30
      RAW = { raw: true }.freeze
      OPTIONS = %w[socket_timeout down_retry_delay].freeze

      # Keeps the last failure of a request. The exception that follows says only that no server is there.
      class Log
        attr_reader :said

        def warn(text = nil)
          text ||= yield
          @said = text if text.include?(" failed ")
        end
        alias error warn

        def info(_text = nil); end
        alias debug info
      end
      LOG = ::Dalli.logger = Log.new

      # Counts the connections that are made.
      module Counted
        class << self
          attr_accessor :opened
        end
        self.opened = 0

        def open(*)
          Counted.opened += 1
          super
        end
      end
      [::Dalli::Socket::TCP, ::Dalli::Socket::UNIX].each { |socket| socket.singleton_class.prepend(Counted) }

      def self.opened(order)
        cache = order.dig("options", "connect") == "operation" ? PerOperation : self
        self_ = cache.new(order["servers"], order["options"] || {})
        self_.need_answers
        self_
      end

      # With failover, the client would look for the keys of a failed server on the others.
      def initialize(servers, options)
        @addresses = servers
        @said = options
        own = options.slice(*OPTIONS).compact.transform_keys(&:to_sym)
        super(servers, { compress: options["compression"] || false, failover: false, value_max_bytes: ENDLESS, **own })
        @marks = options["raw"] == false ? nil : RAW
      end

      def title = "dalli #{::Dalli::VERSION}"

      def settings
        node = ring.servers.first
        {
          "connect" => "session",
          "protocol" => "binary",
          "raw" => @marks ? "on" : "off",
          "compression" => @options[:compress] ? "on, from 4096 bytes on" : "off",
          "failover" => "off",
          "threadsafe" => "on",
          "socket_timeout" => "#{node.options[:socket_timeout]} s",
          "down_retry_delay" => "#{node.options[:down_retry_delay]} s",
          "servers" => @addresses.join(", "),
          "server_version" => version.values.join(", "),
        }
      end

      # Connects, and raises unless every server answers.
      def need_answers
        silent = version.select { |_, told| told.nil? }.keys
        raise Failure.new("unavailable", "no answer from #{silent.join(", ")}#{reason}") unless silent.empty?
      end

      def set(key, value, ttl) = super(key, value, ttl, @marks)

      def touch(key, ttl) = super || false

      def get_many(keys) = get_multi(keys)

      # The protocol has whole seconds. 0 is no TTL.
      def ttl_argument(seconds) = seconds.nil? ? 0 : seconds.ceil

      # A request of many keys leaves out the keys of a server that failed.
      def doubts? = true

      # The failure of the key's server, if the client has no connection to it.
      def failure_of_miss(key)
        servers = ring.servers
        server = servers.length == 1 ? servers.first : ring.send(:server_for_hash_key, ring.send(:hash_for, key))
        in_words("no answer from #{server.name}#{reason}") if server.sock.nil?
      end

      # The words of a failure are in the log, and its kind with them.
      def failure(error)
        return Failure.of(error) unless error.is_a?(::Dalli::RingError)

        in_words("#{error.message}#{reason}")
      end

      def refusal(_key, value, _answer)
        Failure.new("other", "the server did not store the value of #{value.bytesize} bytes")
      end

      def connections
        opened = Counted.opened
        Counted.opened = 0
        opened
      end

      def after_fork
        client = self.class.new(@addresses, @said)
        client.need_answers
        client
      end

      private

      # A failure without a word that tells its kind is one of the connection.
      def in_words(text)
        failure = Failure.in_words(text)
        failure.kind == "other" ? Failure.new("io", text) : failure
      end

      # The last failure, without the options of the connection.
      def reason = LOG.said ? ": #{LOG.said.sub(/: \{.*/m, "")}" : ""
    end

    # A new client object and connection for every operation, as in a script that opens its cache in the function that
    # uses it. A get and the fill of its miss are one operation.
    class PerOperation < Dalli
      def settings = { **super, "connect" => "operation" }

      def operation = Dalli.new(@addresses, @said)

      def get(key) = once { |client| client.get(key) }

      def set(key, value, ttl) = once { |client| client.set(key, value, ttl) }

      def delete(key) = once { |client| client.delete(key) }

      def touch(key, ttl) = once { |client| client.touch(key, ttl) }

      def get_many(keys)
        once do |client|
          found = client.get_many(keys)
          @failures = keys.reject { |key| found.key?(key) }.to_h { |key| [key, client.failure_of_miss(key)] }
          found
        end
      end

      # Found while the client was open.
      def failure_of_miss(key) = @failures&.delete(key)

      def need_answers
        super
        close
      end

      private

      def once
        client = operation
        yield client
      ensure
        client&.close
      end
    end
  end
end
