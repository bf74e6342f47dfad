# frozen_string_literal: true

module Larder
  # Values that are made where they are absent.
  class Store
    # The pauses between two looks at a key that somebody else loads, in seconds: the first, and the longest.
    FIRST_PAUSE = 0.001
    LONGEST_PAUSE = 0.05
    # Stands for an absent value, because +nil+ can be stored.
    ABSENT = Object.new.freeze
    private_constant :FIRST_PAUSE, :LONGEST_PAUSE, :ABSENT

    # The value of a key. Where it is absent, the block makes it, and it is stored for +ttl+ seconds.
    #
    # One caller, of all threads, processes and hosts that share the store, runs its block. The others wait for the value,
    # for +wait+ seconds at most, and then run their own without storing what it makes. A caller that has not stored its
    # value within +lease+ seconds is followed by another one. A value in its last +early+ seconds is loaded by one caller,
    # while the others have the older value.
    def get_or_load(key, ttl: nil, wait: 5, lease: 10, early: 0, &block)
      raise ArgumentError, "there is no block that makes the value" unless block

      told = ask(key, lease, early)
      told = await(key, wait, lease, early) if told == [:wait, nil]
      case told[0]
      when :value then told[1]
      when :load then load(key, ttl, told[1], &block)
      when :wait then told.fetch(2, &block)
      else load_without_lease(key, ttl, &block)
      end
    end
    alias fetch get_or_load

    # The values of keys, as a Hash. The block gets the list of the absent ones, and returns a Hash of those that it can
    # make, which are stored for +ttl+ seconds.
    def get_or_load_many(keys, ttl: nil)
      keys = keys.uniq
      values = get_many(keys)
      missing = keys.reject { |key| values.key?(key) }
      return values if missing.empty?

      made = yield(missing)
      raise TypeError, "the block returns a #{made.class}; return a Hash of key to value" unless made.is_a?(Hash)

      set_many(made, ttl: ttl)
      values.merge(made)
    end

    private

    # The answer to a caller that would load; +[:none]+ where the store has no lease for it.
    def ask(key, lease, early)
      _lease(key, lease, early)
    rescue UnsupportedError
      [:none]
    rescue Error => error
      raise unless %i[busy full].include?(error.kind)

      # Nobody can tell others to wait now, so this caller does not either.
      [:wait, nil]
    end

    # Asks again until there is an answer, or the time is over.
    def await(key, wait, lease, early)
      deadline = now + wait
      pause = FIRST_PAUSE
      while now < deadline
        sleep(pause)
        pause = [2 * pause, LONGEST_PAUSE].min
        told = ask(key, lease, early)
        return told unless told == [:wait, nil]
      end
      [:wait, nil]
    end

    # Makes a value and stores it under the token, or lets the next caller load where that fails.
    def load(key, ttl, token)
      filled = false
      value = yield
      _fill(key, value, ttl, token)
      filled = true
      value
    ensure
      give_up(key, token) unless filled
    end

    def give_up(key, token)
      _release(key, token)
    rescue Error
      # The lease ends by itself.
      nil
    end

    # Makes a value of a store whose callers cannot know of each other.
    def load_without_lease(key, ttl)
      value = get(key, ABSENT)
      return value unless value.equal?(ABSENT)

      value = yield
      set(key, value, ttl: ttl)
      value
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
