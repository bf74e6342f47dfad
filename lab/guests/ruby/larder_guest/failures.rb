# frozen_string_literal: true

require_relative "block"
require_relative "failure"

module LarderGuest
  # Explains the failures that the loop noted, in their order, once a segment of the loop is over. Where everything
  # fails, the phase is given up.
  class Failures
    # The phase is given up after this many failures in a row, or this time of them: the rest would only repeat them.
    FAILURES_IN_A_ROW = 100
    FAILING_NS = 5_000_000_000

    def initialize(cache, block)
      @cache = cache
      @block = block
      @base = 0
      @in_a_row = 0
      @last = -1
      @since = 0
    end

    # Goes on to the next filling of the block, whose operations follow the present ones.
    def next_block
      @base += @block.count
    end

    # Explains the notes made since the last call.
    def settle
      notes = @block.notes
      @block.notes = []
      notes.each do |note|
        next misses(note) if note.what == :missed

        failure = note.what == :failed ? note.said : refusal(note)
        note.first.upto(note.last) { |n| @block.errors[n] ||= failure }
        count(note, failure)
      end
    end

    private

    # Counts the misses of a request that were failures.
    def misses(note)
      last = nil
      note.said.each do |n, failure|
        next unless [MISS, FILLED, UNFILLED].include?(@block.outcome[n])

        @block.outcome[n] = ERROR
        @block.errors[n] = last = failure
      end
      count(note, last) if last
    end

    def refusal(note)
      n = note.first
      key = @block.kind[n] == Plan::GET_OR_SET ? @block.under[n] : @block.key[n]
      @cache.refusal(key, @block.want[n], note.said)
    end

    # Gives up after too many failures in a row. A request with any key that was found or missed is no failure.
    def count(note, failure)
      position = @base + note.first
      # The get of this operation has failed already, so its failed fill is no second failure.
      return if position <= @last

      is_next = position == @last + 1
      unless @block.outcome[note.first..note.last].all? { |outcome| [ERROR, UNFILLED].include?(outcome) }
        @in_a_row = 0
        return
      end
      if !is_next || @in_a_row.zero?
        @in_a_row = 0
        @since = @block.end[note.last]
      end
      @last = @base + note.last
      @in_a_row += 1
      give_up(failure) if @in_a_row >= FAILURES_IN_A_ROW || too_long?(note)
    end

    def too_long?(note) = @in_a_row > 1 && @block.end[note.last] - @since >= FAILING_NS

    def give_up(failure)
      raise Failure.new(failure.kind, "gave up after #{@in_a_row} failures in a row: #{failure.message}")
    end
  end
end
