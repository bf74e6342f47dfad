# frozen_string_literal: true

require_relative "block"

module LarderGuest
  # The measured loop, the floor of the language. It is written for speed, and each kind of phase has its own copy of
  # the same work. The loop reads the clock once an operation, for the end of an operation is the start of the next. A
  # `while` with a number takes less time than a block of `each`, which is a call. A `rescue` costs nothing until an
  # exception comes. An exception of the cache is the error of its operation, and the next operation follows.
  class Loop
    CLOCK = Process::CLOCK_MONOTONIC

    # `ttl` is in the form that this cache takes.
    def initialize(cache, block, ttl)
      @cache = cache
      @block = block
      @ttl = ttl
      @doubts = cache.doubts?
    end

    # Works through the block from operation `first` on, until all operations are done or `limit_ns` have passed.
    # Returns the start time and the first operation left.
    def run(first, limit_ns)
      block = @block
      way = if block.multiget > 1 then :requests
            else { Plan::GET => :gets, Plan::SET => :sets }.fetch(block.only_kind, :mixed)
            end
      began = now
      [began, send(way, first, block.count, began + limit_ns)]
    end

    private

    def gets(first, count, limit)
      cache = @cache
      key, want, ends = @block.key, @block.want, @block.end
      n = first
      while n < count
        begin
          got = cache.get(key[n])
        rescue StandardError => e
          at = failed(n, n, e)
        else
          ends[n] = at = Process.clock_gettime(CLOCK, :nanosecond)
          differs(n, got) unless got == want[n]
        end
        n += 1
        return n if at > limit
      end
      n
    end

    def sets(first, count, limit)
      cache, ttl = @cache, @ttl
      key, want, ends = @block.key, @block.want, @block.end
      n = first
      while n < count
        begin
          stored = cache.set(key[n], want[n], ttl)
        rescue StandardError => e
          at = failed(n, n, e)
        else
          ends[n] = at = Process.clock_gettime(CLOCK, :nanosecond)
          refused(n, stored, ERROR) unless stored
        end
        n += 1
        return n if at > limit
      end
      n
    end

    def mixed(first, count, limit)
      cache, block, ttl = @cache, @block, @ttl
      kind, key, want, ends = block.kind, block.key, block.want, block.end
      n = first
      while n < count
        begin
          case kind[n]
          when Plan::GET
            got = cache.get(key[n])
            ends[n] = at = Process.clock_gettime(CLOCK, :nanosecond)
            differs(n, got) unless got == want[n]
          when Plan::SET
            stored = cache.set(key[n], want[n], ttl)
            ends[n] = at = Process.clock_gettime(CLOCK, :nanosecond)
            refused(n, stored, ERROR) unless stored
          when Plan::GET_OR_SET
            get_or_set(n)
            at = ends[n]
          else
            found = kind[n] == Plan::DELETE ? cache.delete(key[n]) : cache.touch(key[n], ttl)
            ends[n] = at = now
            missed(n) unless found
          end
        rescue StandardError => e
          at = failed(n, n, e)
        end
        n += 1
        return n if at > limit
      end
      n
    end

    # Does a get and the fill of its miss, which are one operation.
    def get_or_set(n)
      block = @block
      client = @cache.operation
      got = client.get(block.key[n])
      if got.nil?
        missed(n)
        begin
          stored = client.set(block.under[n], block.want[n], @ttl)
        rescue StandardError => e
          # The miss of the get stands, so only the fill failed.
          failed(n, n, e, UNFILLED)
          return
        end
      end
      block.end[n] = now
      if !got.nil?
        differs(n, got) unless got == block.want[n]
      elsif stored
        block.outcome[n] = FILLED
      else
        refused(n, stored, UNFILLED)
      end
    ensure
      client.close if client && !client.equal?(@cache)
    end

    # Does requests of many keys; the operations between them are done one by one.
    def requests(first, count, limit)
      block, ends = @block, @block.end
      while first < count
        last = block.request_to[first]
        if block.kind[first] == Plan::GET
          at = request(first, last)
        else
          mixed(first, last + 1, limit)
          at = ends[last]
        end
        first = last + 1
        break if at > limit
      end
      first
    end

    def request(first, last)
      begin
        found = @cache.get_many(@block.request_keys[first])
      rescue StandardError => e
        return failed(first, last, e)
      end
      at = now
      missing = []
      first.upto(last) do |n|
        @block.end[n] = at
        got = found[@block.key[n]]
        if got.nil?
          @block.outcome[n] = MISS
          missing << n
        elsif got != @block.want[n]
          differs(n, got)
        end
      end
      doubt(missing, first, last) if @doubts && !missing.empty?
      at
    end

    # Notes a get that did not return the expected value. Strings of different encodings differ though their bytes may
    # be the same.
    def differs(n, got)
      return missed(n) if got.nil?

      got = got.b
      @block.outcome[n] = @block.other(n, got) unless got == @block.want[n]
    end

    # Notes an absent key.
    def missed(n)
      @block.outcome[n] = MISS
      doubt([n], n, n) if @doubts
    end

    # Notes the misses of a client that reports failures as misses, which were failures.
    def doubt(missing, first, last)
      failures = missing.to_h { |n| [n, @cache.failure_of_miss(@block.key[n])] }.compact
      @block.notes << Note.new(first, last, :missed, failures) unless failures.empty?
    end

    def refused(n, answer, outcome)
      @block.outcome[n] = outcome
      @block.notes << Note.new(n, n, :refused, answer)
    end

    # Notes an exception; returns its time. The clients' own traces of a failure are gone later, so they are read now.
    def failed(first, last, error, outcome = ERROR)
      at = now
      first.upto(last) do |n|
        @block.end[n] = at
        @block.outcome[n] = outcome
      end
      @block.notes << Note.new(first, last, :failed, @cache.failure(error))
      at
    end

    def now = Process.clock_gettime(CLOCK, :nanosecond)
  end
end
