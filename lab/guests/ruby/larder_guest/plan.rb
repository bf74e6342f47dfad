# frozen_string_literal: true

require "json"

module LarderGuest
  # A plan in memory: keys, the pool that values are cut from, operations. Values are composed when a block of
  # operations is made ready, for all values together may be larger than memory.
  class Plan
    GET = 0
    SET = 1
    GET_OR_SET = 2
    DELETE = 3
    TOUCH = 4
    # The value of a get whose key must be absent; larger than the number of any value.
    NOTHING = 0xFFFF_FFFF

    OPERATION_BYTES = 16
    # A value begins with a header of this length, which is unique, unless it is shorter.
    HEADER_BYTES = 24
    # Three numbers and the header.
    VALUE_BYTES = 12 + HEADER_BYTES

    # The work of one phase.
    Phase = Struct.new(:shares, :limit_ns, :multiget, :again) do
      def self.of(phase)
        limit_s = phase["time_limit_s"]
        limit_ns = limit_s && (limit_s * 1e9).round
        new(phase["shares"], limit_ns, phase["multiget"], phase["again"] && !limit_s.nil?)
      end
    end

    attr_reader :folder, :processes, :ttl_s, :phases, :keys, :newest

    def initialize(folder)
      plan = JSON.parse(File.binread("#{folder}/plan.json"))
      @folder = folder
      @processes = plan["processes"]
      @ttl_s = plan["ttl_s"]
      @replays = plan["replays"]
      @phases = plan["phases"].map { |phase| Phase.of(phase) }
      @pool = File.binread(plan["pool"])
      @values = File.binread("#{folder}/values.bin")
      @operations = File.binread("#{folder}/ops.bin")
      @numbers = {}
      @keys = []
      @newest = []
      read_keys(File.binread("#{folder}/keys.bin"))
    end

    # Whether the cache returns the value that was set last.
    def replays? = @replays

    # A value by its number, in an object of its own.
    def value(number)
      place = (number - 1) * VALUE_BYTES
      at, length = @values.unpack("VV", offset: place)
      return @pool.byteslice(at, length) if length < HEADER_BYTES

      text = String.new(capacity: length)
      text << @values.byteslice(place + 12, HEADER_BYTES)
      text << @pool.byteslice(at + HEADER_BYTES, length - HEADER_BYTES)
    end

    # The numbers of a key's values, by their first bytes, which are unique. Of equal short values: the newest.
    def numbers_of(key)
      @numbers[key] ||= begin
        numbers = {}
        number = @newest[key]
        until number.zero?
          place = (number - 1) * VALUE_BYTES
          at, length, previous = @values.unpack("VVV", offset: place)
          is_short = length < HEADER_BYTES
          first = is_short ? @pool.byteslice(at, length) : @values.byteslice(place + 12, HEADER_BYTES)
          numbers[first] ||= number
          number = previous
        end
        numbers
      end
    end

    # Kinds, keys, values and keys to store under of `count` operations from `first` on.
    def operations(first, count)
      return [[], [], [], []] if count.zero?

      numbers = @operations.byteslice(first * OPERATION_BYTES, count * OPERATION_BYTES).unpack("V*")
      numbers.each_slice(4).to_a.transpose
    end

    # The number of the value that the null cache holds when a process begins a phase. That is the value that was set
    # last, or the fill of the first miss; 0 where the cache is empty.
    def held_before(phase, process)
      held = 0
      @phases.first(phase).each do |earlier|
        kinds, _, values = operations(*earlier.shares[process])
        kinds.zip(values) { |kind, value| held = value if kind == SET || (kind == GET_OR_SET && held.zero?) }
      end
      held
    end

    private

    # Keys are text, as in most programs; a key of other bytes is text that is not valid.
    def read_keys(text)
      at = 0
      while at < text.bytesize
        newest, length = text.unpack("VV", offset: at)
        @newest << newest
        @keys << text.byteslice(at + 8, length).force_encoding(Encoding::UTF_8).freeze
        at += 8 + length
      end
    end
  end
end
