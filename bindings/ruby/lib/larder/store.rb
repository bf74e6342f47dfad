# frozen_string_literal: true

module Larder
  # An open cache. Threads share it, and a forked child opens it anew by itself.
  #
  # Keys are Strings or Symbols. A TTL is in seconds, with a fraction where there is one, or a duration of ActiveSupport;
  # +nil+ is for ever. ext/larder has the calls themselves, and the methods without keyword arguments.
  class Store
    # Opens the cache of a URL; see Larder.open.
    def initialize(url, serializer: Json.new)
      @url = url.to_s.dup.freeze
      _open(@url, serializer)
    end

    # The URL, its password masked.
    def url
      @url.gsub(%r{(//[^/@:|]*:)[^/|]*@}, '\1***@')
    end

    # Stores a value; returns +true+.
    def set(key, value, ttl: nil)
      _set(key, value, ttl)
    end

    # Stores a value where the key is absent; whether it was.
    def add(key, value, ttl: nil)
      _add(key, value, ttl)
    end

    # Stores a value where the key is present; whether it was.
    def replace(key, value, ttl: nil)
      _replace(key, value, ttl)
    end

    # Stores a value where the key still has the version of #gets; whether it had.
    def cas(key, value, version, ttl: nil)
      _cas(key, value, version, ttl)
    end

    # Adds to a whole number, and returns the new one. An absent key becomes +initial+, or stays absent: +nil+.
    def incr(key, delta = 1, initial: nil, ttl: nil)
      _incr(key, delta, initial, ttl)
    end

    # Takes from a whole number, which stops at 0. An absent key becomes +initial+, or stays absent: +nil+.
    def decr(key, delta = 1, initial: nil, ttl: nil)
      _decr(key, delta, initial, ttl)
    end

    # Marks an entry as out of date; whether it was there. #get_or_load has one caller load it anew, while the others have
    # the older value for +keep+ seconds, or for the rest of its TTL.
    def expire(key, keep: nil)
      _expire(key, keep)
    end

    # The values of the keys that are there, as a Hash.
    def get_many(keys)
      # A copy, because other threads may change the Array while the call waits.
      keys = keys.to_a.dup
      _get_many(keys).each_slice(2).to_h { |place, value| [keys[place], value] }
    end

    # Stores the values of a Hash; the keys that were not stored.
    def set_many(values, ttl: nil)
      keys = values.keys
      _set_many(keys, values.values, ttl).map { |place| keys[place] }
    end

    # Removes keys; the number of those that were there.
    def delete_many(keys)
      _delete_many(keys.to_a)
    end

    def inspect
      "#<#{self.class} #{url}#{", closed" if closed?}>"
    end

    # A copy would have the same sessions, so there is no copy.
    undef_method :dup, :clone
  end
end
