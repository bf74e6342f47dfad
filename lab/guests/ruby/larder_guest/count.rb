# frozen_string_literal: true

require_relative "plan"
require_relative "tally"

module LarderGuest
  # Adds the loop's notes on a finished block to the tally of each operation.
  class Count
    NAMES = {
      Plan::SET => "set", Plan::GET_OR_SET => "get_or_set", Plan::DELETE => "delete", Plan::TOUCH => "touch",
    }.freeze

    attr_reader :first_error

    # `operations` are the names of the phase's operations; with `multiget` above 1 a get is a request of that many
    # keys.
    def initialize(operations, multiget)
      @first_error = nil
      @tallies = operations.to_h { |name| [name, Tally.new(name.start_with?("get"))] }
      names = NAMES.merge(Plan::GET => multiget > 1 ? "get_many" : "get")
      @tally_of = names.transform_values { |name| @tallies[name] }.compact
    end

    # Adds the loop's notes on a block.
    def add(block)
      block.errors.sort.each do |n, failure|
        @first_error ||= failure.message
        @tally_of[block.kind[n]].error(failure.kind)
      end
      block.settle_misses
      block.wrong.each { |(kind, outcome), (n, got)| @tally_of[kind].add_wrong(block, n, outcome, got) }
      block.segments.each { |segment| add_segment(block, segment) }
    end

    # The counts of each operation, for the result of the phase.
    def over(wall_ns) = @tallies.transform_values { |tally| tally.over(wall_ns) }

    private

    def add_segment(block, segment)
      # On the time axis of the phase, the durations of all operations add up to the duration of the phase.
      origin = segment.began - segment.elapsed
      first, last = segment.first, segment.last
      first.upto(last) { |n| block.end[n] -= origin }
      before = segment.elapsed
      while first <= last
        kind = block.kind[first]
        if kind == Plan::GET && block.multiget > 1
          to = block.request_to[first]
          @tally_of[kind].add_request(block, first, to, before)
        else
          to = block.only_kind ? last : last_of_kind(block, first, last)
          @tally_of[kind].add_run(block, first, to, before)
        end
        before = block.end[to]
        first = to + 1
      end
    end

    # The last of the operations from `first` on that are of its kind.
    def last_of_kind(block, first, last)
      kind = block.kind[first]
      first += 1 while first < last && block.kind[first + 1] == kind
      first
    end
  end
end
