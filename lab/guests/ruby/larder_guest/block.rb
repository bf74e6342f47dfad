# frozen_string_literal: true

require_relative "plan"

module LarderGuest
  # The outcomes of an operation; the loop notes an outcome only where it is not `RIGHT`.
  RIGHT = 0
  MISS = 1
  ERROR = 2
  FILLED = 3
  UNFILLED = 4
  # Another value than the expected one.
  OTHER = 5

  # The kinds of what a record notes of an operation beside its outcome: another value of the key by its number, a value
  # by its bytes, or an error.
  OF_VALUE = 1
  OF_BYTES = 2
  OF_ERROR = 3

  # A note on the operations from `first` to `last`, to be explained later. What was said is, by the kind of the note
  # (`:missed`, `:refused`, `:failed`), the failures by operation, the answer of `set`, or the failure.
  Note = Struct.new(:first, :last, :what, :said)

  # Operations made ready for the loop: an array for each field, composed values, and places for the loop's notes. A
  # process alone makes them ready while its clock stands still. Each of several processes does so before its clock
  # starts, unless there are too many operations.
  class Block
    # The expectation of a get where no value is right: bytes that are no value of any plan.
    NONE = "nothing is stored under this key, so no value of it is right".b.freeze
    EMPTY = "".b.freeze
    # The bytes of other values that a block keeps as they are. Of the values after these it keeps the beginning.
    OTHER_BYTES = 16 << 20
    BEGINNING = 64

    attr_reader :multiget, :count, :only_kind, :kind, :key, :under, :want, :end, :outcome, :errors, :others, :segments,
                :request_to, :request_keys
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
      kinds, keys, values, under = @plan.operations(first, [count, @most_operations].min)
      @want = wanted(kinds, keys, values)
      @count = @want.length
      @kind = kinds.first(@count)
      @key_index = keys.first(@count)
      @key = keys_at(@key_index)
      @under = under == keys ? @key : keys_at(under.first(@count))
      @only_kind = @kind.uniq.length == 1 ? @kind.first : nil
      places
      requests if @multiget > 1
      @count
    end

    # Notes that operation `n` got `got` in place of the expected value: the number of this value among those of its
    # key, or its bytes. A hot key has thousands of values, and the clock runs. So the first bytes of `got` give the
    # number of the one value to compare it with.
    def other(n, got)
      number = @plan.numbers_of(@key_index[n])[got.byteslice(0, Plan::HEADER_BYTES)] unless @plan.replays?
      if number && value?(number, got)
        @others[n] = [OF_VALUE, number, EMPTY]
      else
        @other_bytes += got.bytesize
        bytes = @other_bytes > OTHER_BYTES ? got.byteslice(0, BEGINNING) : got
        @others[n] = [OF_BYTES, got.bytesize, bytes]
      end
      OTHER
    end

    private

    # Not by `values_at`, for the arguments of a call must fit on the stack.
    def keys_at(indices) = indices.map { |index| @plan.keys[index] }

    # Whether `got` is this value. The composed value is kept for later gets, while there is room.
    def value?(number, got)
      return got == @plan.value(number) if @composed >= @most_bytes && !@read.key?(number)

      got == text(@read, number)
    end

    # The value that each operation stores or expects.
    def wanted(kinds, keys, values)
      want = []
      kinds.each_index do |n|
        case kinds[n]
        when Plan::SET
          want << text(@stored, @held = values[n])
        when Plan::GET, Plan::GET_OR_SET
          want << expected(kinds[n], keys[n], values[n])
          @plan.numbers_of(keys[n]) if @meets_newer
        else
          want << EMPTY
        end
        break if @composed >= @most_bytes
      end
      want
    end

    def expected(kind, key, number)
      if @plan.replays?
        @held = number if kind == Plan::GET_OR_SET && @held.zero?
        number = @held
      end
      number = @plan.newest[key] if number.zero?
      number.zero? || number == Plan::NOTHING ? NONE : text(@read, number)
    end

    # A value, which later blocks share while there is room. Gets and sets have separate objects, even of the same
    # value: a cache in memory returns the very object that it was given, and comparing an object with itself would cost
    # nothing.
    def text(texts, number)
      texts[number] ||= begin
        composed = @plan.value(number).freeze
        @composed += composed.bytesize
        composed
      end
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
      @errors = {}
      @others = {}
      @other_bytes = 0
      @notes = []
      # The first operation of each stretch without a pause, and when that began.
      @segments = []
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
