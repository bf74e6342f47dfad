# frozen_string_literal: true

module Larder
  # Values that are made where they are absent.
  #
  # A lease is given back whatever happens, also where a Timeout or Thread#kill ends the thread at the very return of the call
  # that took it. So _lease writes its answer to an Array of the caller, which is there before the lease is.
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
    # while the others have the older value. So has the caller whose block fails. Where the store fails, the value of the block
    # is returned, and not stored.
    def get_or_load(key, ttl: nil, wait: 5, lease: 10, early: 0)
      raise ArgumentError, "there is no block that makes the value" unless block_given?

      _check_times(ttl, wait)
      told = []
      begin
        ask(told, key, lease, early)
        await(told, key, wait, lease, early) if told == [:wait]
        case told[0]
        when :value then told[1]
        when :load then load(told, key, ttl) { yield }
        when :wait then told.length > 1 ? told[1] : yield
        when :unsupported then load_without_lease(key, ttl) { yield }
        else yield
        end
      ensure
        give_up(key, told[1]) if told[0] == :load
      end
    end
    alias fetch get_or_load

    # The values of keys, as a Hash. The block gets the list of the absent ones, and returns a Hash of those that it can
    # make, which are stored for +ttl+ seconds. Where the store fails, they are returned all the same.
    def get_or_load_many(keys, ttl: nil)
      raise ArgumentError, "there is no block that makes the values" unless block_given?

      _check_times(ttl, 0)
      keys = keys.uniq
      values = unless_it_fails({}) { get_many(keys) }
      missing = keys.reject { |key| values.key?(key) }
      return values if missing.empty?

      made = yield(missing)
      raise TypeError, "the block returns a #{made.class}; return a Hash of key to value" unless made.is_a?(Hash)

      unless_it_fails(nil) { set_many(made, ttl: ttl) }
      values.merge(made)
    end

    private

    # Writes to +told+ what this caller of a key does: +:value+ and the value, +:load+ and a token, +:wait+, +:unsupported+ where
    # the store has no leases, or +:failed+ where it has none now. An older value follows +:load+ and +:wait+ where there is one.
    def ask(told, key, lease, early)
      _lease(told, key, lease, early)
    rescue UnsupportedError
      told << :unsupported
    rescue UnavailableError, RefusedError
      told << :failed
    end

    # Asks again until there is another answer than +:wait+, or the time is over.
    def await(told, key, wait, lease, early)
      deadline = now + wait
      pause = FIRST_PAUSE
      while now < deadline
        sleep(pause)
        pause = [2 * pause, LONGEST_PAUSE].min
        ask(told.clear, key, lease, early)
        return if told != [:wait]
      end
    end

    # Makes a value and stores it. An older one stands for a value that cannot be made.
    def load(told, key, ttl)
      value = yield
    rescue StandardError
      raise if told.length < 3

      told[2]
    else
      fill(told, key, value, ttl)
    end

    # Stores a value under the token of its lease, and returns it.
    def fill(told, key, value, ttl)
      unless_it_fails(nil) do
        _fill(key, value, ttl, told[1])
        told.clear
      end
      value
    end

    # Lets the next caller load.
    def give_up(key, token)
      _release(key, token)
    rescue Error
      # The lease ends by itself.
      nil
    end

    # Makes a value of a store whose callers cannot know of each other.
    def load_without_lease(key, ttl)
      value = unless_it_fails(ABSENT) { get(key, ABSENT) }
      return value unless value.equal?(ABSENT)

      value = yield
      unless_it_fails(nil) { set(key, value, ttl: ttl) }
      value
    end

    # The result of the block, or another one where the store does not answer or takes no value. A store that fails keeps
    # nobody from a value that a block makes.
    def unless_it_fails(otherwise)
      yield
    rescue UnavailableError, RefusedError
      otherwise
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
