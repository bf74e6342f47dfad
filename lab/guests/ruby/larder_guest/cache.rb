# frozen_string_literal: true

require_relative "failure"

module LarderGuest
  # The interface of a cache. `get`, `set` and the like may be those of the client that a cache adapts. A cache is then
  # a subclass of the client that includes this module: a method that only passes calls on would cost as much as the
  # rest of the loop. An exception of the cache is an error of the operation.
  #
  # A cache has
  #   title, settings                  name and version; effective settings as text
  #   get(key)                         the value, or nil
  #   set(key, value, ttl)             true when the value was stored; `ttl` is a result of `ttl_argument`
  #   delete(key), touch(key, ttl)     whether there was such a key
  module Cache
    def settings = {}

    def touch(_key, _ttl)
      return super if defined?(super)

      raise Failure.new("other", "#{title} cannot renew a time to live")
    end

    # The values of these keys, by key, as one request.
    def get_many(keys)
      keys.each_with_object({}) do |key, found|
        value = get(key)
        found[key] = value unless value.nil?
      end
    end

    # A TTL of `seconds` in the form that `set` and `touch` take; nil means no TTL.
    def ttl_argument(seconds) = seconds

    # Every value is stored with this TTL from now on.
    def expect_ttl(seconds); end

    # The client of one operation; a client that is not this cache itself is closed after it, by `close`.
    def operation = self

    # Whether its client reports some failures as misses, and leaves a trace of them.
    def doubts? = false

    # The failure that a miss was in truth, asked for at once; nil where there is no trace of a failure.
    def failure_of_miss(_key) = nil

    # The failure of an exception of this cache, asked for at once.
    def failure(error) = Failure.of(error)

    # The reason why `set` gave this answer.
    def refusal(_key, _value, _answer) = Failure.new("other", "#{title} refused the value without a reason")

    # Entries dropped to make room since the last call; nil where their number is unknown.
    def evictions = nil

    # Connections opened since the last call; nil where their number is unknown.
    def connections = 0

    # The counts of each tier since the last call.
    def tier_counts = []

    # The cache to use in a child of this process, connected before anything is timed.
    def after_fork = self
  end
end
