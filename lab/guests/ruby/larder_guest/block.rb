# frozen_string_literal: true

require_relative "plan"

module LarderGuest
  # The outcomes of an operation; the loop notes an outcome only where it is not `RIGHT`.
  RIGHT = 0
  MISS = 1
  DAMAGED = 2
  TRUNCATED = 3
  ERROR = 4
  FILLED = 5
  UNFILLED = 6
  STALE = 7
  OTHER_KEY = 8
  # A miss of a key that must be absent, which is the right answer.
  PLANNED = 9

  # A note on the operations from `first` to `last`, to be explained later. What was said is, by the kind of the note
  # (`:missed`, `:refused`, `:failed`), the failures by operation, the answer of `set`, or the failure.
  Note = Struct.new(:first, :last, :what, :said)

  # Operations that were timed in one go: their start, and the phase's elapsed time at that moment.
  Segment = Struct.new(:first, :last, :began, :elapsed)

  # Operations made ready for the loop: an array for each field, composed values, and places for the loop's notes. A
  # process alone makes them ready while its clock stands still. Each of several processes does so before its clock
  # starts, unless there are too many operations.
  class Block
    # The expectation of a get where no value is right: bytes that are no value of any plan.
    NONE = "nothing is stored under this key, so no value of it is right".b.freeze
    EMPTY = "".b.freeze

    attr_reader :plan, :multiget, :count, :only_kind, :kind, :key, :key_index, :value, :under, :under_index, :want,
                :end, :outcome, :bytes_of, :errors, :segments, :wrong, :request_to, :request_keys
    attr_accessor :notes

    # `operations` and `bytes` limit the block; `held` is the number of the value that the null cache holds. With
    # `meets_newer`, gets may meet newer values than they expect, so the numbers of their keys' values are made ready.
    def initialize(plan, operations:, bytes:, multiget:, meets_newer:, held:)
      @plan = plan
      @most_operations = operations
      @most_bytes = bytes
      @multiget = multiget
      @meets_newer = meets_newer && !plan.replays?
      @held = held
      @count = 0
      forget
    end

    # Makes ready as many of the `count` operations from `first` on as fit, and returns their number.
    def fill(first, count)
      forget if @composed >= @most_bytes
      lists = @plan.operations(first, [count, @most_operations].min)
      @want = wanted(*lists.first(3))
      @count = @want.length
      @kind, @key_index, @value, @under_index = lists.map { |list| list.first(@count) }
      keys = @plan.keys
      @key = keys.values_at(*@key_index)
      @under = @under_index == @key_index ? @key : keys.values_at(*@under_index)
      @only_kind = @kind.first if @kind.uniq.length == 1
      places
      requests if @multiget > 1
      @count
    end

    # Whether `got` is this value. The composed value is kept for later gets, while there is room.
    def value?(number, got)
      text = @read[number]
      return got == text if text
      return got == @plan.value(number) if @composed >= @most_bytes

      got == compose(@read, number)
    end

    # Marks the misses of keys that must be absent as right, once the failures among them are known.
    def settle_misses
      @nothing.each { |n| @outcome[n] = PLANNED if @outcome[n] == MISS }
    end

    # Keeps, for a kind of operation and a wrong outcome, the first operation and the value that it got.
    def note_wrong(n, outcome, got)
      @wrong[[@kind[n], outcome]] ||= [n, got]
    end

    private

    # The value that each operation stores or expects.
    def wanted(kinds, keys, values)
      want = []
      # The gets whose key must be absent.
      @nothing = []
      kinds.each_index do |n|
        kind = kinds[n]
        if kind == Plan::SET
          @held = values[n]
          want << (@stored[@held] || compose(@stored, @held))
        elsif [Plan::GET, Plan::GET_OR_SET].include?(kind)
          want << expected(n, kind, keys[n], values)
          @plan.numbers_of(keys[n]) if @meets_newer
        else
          want << EMPTY
        end
        break if @composed >= @most_bytes
      end
      want
    end

    def expected(n, kind, key, values)
      if @plan.replays?
        @held = values[n] if kind == Plan::GET_OR_SET && @held.zero?
        values[n] = @held
      end
      number = values[n].zero? ? @plan.newest[key] : values[n]
      return @read[number] || compose(@read, number) unless number.zero? || number == Plan::NOTHING

      @nothing << n if number == Plan::NOTHING
      NONE
    end

    # A value, which later blocks share while there is room. Gets and sets have separate objects, even of the same
    # value: a cache in memory returns the very object that it was given, and comparing an object with itself would cost
    # nothing.
    def compose(texts, number)
      text = texts[number] = @plan.value(number).freeze
      @composed += text.bytesize
      text
    end

    def forget
      @composed = 0
      @read = {}
      @stored = {}
    end

    # Makes room for the loop's notes.
    def places
      @end = Array.new(@count, 0)
      @outcome = Array.new(@count, RIGHT)
      @bytes_of = {}
      @errors = {}
      @notes = []
      @segments = []
      # By kind and outcome, the first wrong operation and the value that it got.
      @wrong = {}
    end

    # Joins successive gets into requests of up to `multiget` keys: the end of each request, and its keys.
    def requests
      @request_to = Array.new(@count, 0)
      @request_keys = Array.new(@count)
      first = 0
      while first < @count
        last = first
        if @kind[first] == Plan::GET
          last += 1 while last - first + 1 < @multiget && @kind[last + 1] == Plan::GET
        end
        @request_to[first] = last
        @request_keys[first] = @key[first..last]
        first = last + 1
      end
    end
  end
end
