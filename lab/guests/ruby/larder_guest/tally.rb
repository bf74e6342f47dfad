# frozen_string_literal: true

require_relative "block"
require_relative "timeline"

module LarderGuest
  # Counts, latencies and time line of one operation, made from the loop's notes.
  class Tally
    # The ways in which a value is wrong, as results name them.
    WRONG = { DAMAGED => "damaged", TRUNCATED => "truncated", STALE => "stale", OTHER_KEY => "other_key" }.freeze
    # The result has at most this many bytes of a wrong value.
    TOLD_BYTES = 65_536

    def initialize(is_read)
      @is_read = is_read
      @ops = 0
      @outcomes = Hash.new(0)
      @bytes = 0
      @busy_ns = 0
      @latencies = Hash.new(0)
      @kinds = Hash.new(0)
      @examples = {}
      @timeline = Timeline.new
    end

    # Adds the operations from `first` to `last` of a block, all of this kind; the first began at `before`.
    def add_run(block, first, last, before)
      ends, outcomes, wants = block.end, block.outcome, block.want
      began = before
      bin_ops = slowest = 0
      bin_end = @timeline.bin_end(ends[first])
      n = first
      while n <= last
        at = ends[n]
        took = at - before
        before = at
        if at >= bin_end
          @timeline.add(bin_end - 1, slowest, bin_ops)
          bin_ops = slowest = 0
          bin_end = @timeline.bin_end(at)
        end
        bin_ops += 1
        slowest = took if took > slowest
        outcome = outcomes[n]
        @outcomes[outcome] += 1
        if outcome == RIGHT || outcome == FILLED
          @bytes += wants[n].bytesize
          @latencies[rounded(took)] += 1
        elsif outcome == PLANNED
          @latencies[rounded(took)] += 1
        end
        n += 1
      end
      @timeline.add(bin_end - 1, slowest, bin_ops)
      add_extra_bytes(block, first, last)
      @ops += last - first + 1
      @busy_ns += before - began
    end

    # Adds a request of many keys.
    def add_request(block, first, last, before)
      outcomes = block.outcome[first..last]
      at = block.end[last]
      @ops += outcomes.length
      outcomes.each_with_index do |outcome, n|
        @outcomes[outcome] += 1
        @bytes += block.want[first + n].bytesize if outcome == RIGHT
      end
      add_extra_bytes(block, first, last)
      @busy_ns += at - before
      @timeline.add(at, at - before, outcomes.length)
      @latencies[rounded(at - before)] += 1 if outcomes.include?(RIGHT) || outcomes.include?(PLANNED)
    end

    # Keeps the first value that is wrong in this way, with the key and the value asked for.
    def add_wrong(block, n, outcome, got)
      @examples[WRONG.fetch(outcome)] ||= {
        key: block.key_index[n],
        value: block.under_index[n] == block.key_index[n] ? block.value[n] : 0,
        length: got.bytesize,
        begins: got.byteslice(0, TOLD_BYTES).unpack1("H*"),
      }
    end

    # Adds an error, or a failed fill, of this kind.
    def error(kind)
      @kinds[kind] += 1
    end

    # The counts for the result of a phase that lasted `wall_ns`.
    def over(wall_ns)
      of = @outcomes
      {
        ops: @ops,
        hits: @is_read ? of[RIGHT] : 0,
        misses: of[MISS] + of[FILLED] + of[UNFILLED] + of[PLANNED],
        planned_misses: of[PLANNED],
        wrong: WRONG.keys.sum { |outcome| of[outcome] },
        **WRONG.to_h { |outcome, name| [name.to_sym, of[outcome]] },
        wrong_examples: @examples,
        errors: of[ERROR],
        failed_fills: of[UNFILLED],
        succeeded: of[RIGHT] + of[FILLED] + of[PLANNED],
        bytes: @bytes,
        busy_ns: @busy_ns,
        latencies: @latencies.sort,
        errors_by_kind: @kinds,
        timeline: @timeline.over(wall_ns),
      }
    end

    private

    # Rounds to three digits: more digits tell nothing, and few different latencies remain.
    def rounded(took)
      return took if took < 1_000
      return (took + 5) / 10 * 10 if took < 9_995

      unit = 1
      unit *= 10 while took >= 1_000 * unit
      (took + unit / 2) / unit * unit
    end

    # Adds the bytes of values, right or wrong, beyond the expected length of a right value.
    def add_extra_bytes(block, first, last)
      return if block.bytes_of.empty?

      first.upto(last) do |n|
        length = block.bytes_of[n]
        @bytes += length - (block.outcome[n] == RIGHT ? block.want[n].bytesize : 0) if length
      end
    end
  end
end
