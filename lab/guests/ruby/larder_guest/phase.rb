# frozen_string_literal: true

require "json"
require_relative "block"
require_relative "count"
require_relative "failures"
require_relative "loop"
require_relative "usage"

module LarderGuest
  # One process's share of a phase: blocks are made ready, worked through, counted. A process alone stops its clock
  # while it prepares and counts. Each of several processes keeps its clock running, because the other processes have
  # the cache to themselves meanwhile. So each of them prepares and counts as much at once as memory allows, mostly
  # everything.
  class Phase
    # The limits of a block. For a process alone: as much as stays in a processor's cache.
    ALONE = { operations: 4_096, bytes: 4 << 20 }.freeze
    SEVERAL = { operations: 262_144, bytes: 64 << 20 }.freeze
    # The longest segment of the loop; between segments the guest reports its progress.
    SEGMENT_NS = 250_000_000

    # The share of process `process` of phase `number`, both counted from 0.
    def initialize(plan, cache, judge, number, process = 0)
      asked = plan.phases[number]
      @plan = plan
      @cache = cache
      @number = number
      @process = process
      @alone = plan.processes == 1
      @again = asked.again
      @limit_ns = asked.limit_ns
      @first, @operations = asked.shares[process]
      held = plan.replays? ? plan.held_before(number, process) : 0
      cache.set("held", plan.value(held), nil) unless held.zero?
      meets_newer = !@alone || asked.again
      limits = @alone ? ALONE : SEVERAL
      @block = Block.new(plan, **limits, multiget: asked.multiget, meets_newer: meets_newer, held: held)
      @loop = Loop.new(cache, @block, judge, cache.ttl_argument(plan.ttl_s))
      @failures = Failures.new(cache, judge, @block)
      @count = Count.new(asked.operations, asked.multiget)
      @usage = Usage.new
      @start = nil
      @timed = 0
      @done = 0
      @filled = @block.fill(@first, @operations)
    end

    # Does the share, and calls the block with the number of operations done so far several times a second.
    def run(&tell)
      @cache.connections
      @cache.tier_counts
      @usage.start unless @alone
      position = 0
      until @filled.zero?
        work_through_block(&tell)
        @count.add(@block)
        @failures.next_block
        break if over?

        position += @filled
        position = 0 if @again && position == @operations
        @filled = @block.fill(@first + position, @operations - position)
      end
      @usage.stop unless @alone
    end

    # Writes the result to a file, which gets its name when it is complete.
    def write_result
      user_ns, system_ns = @usage.cpu_ns
      result = {
        start_ns: @start || 0,
        wall_ns: @timed,
        cpu_user_ns: user_ns,
        cpu_system_ns: system_ns,
        rss_bytes: Usage.rss_bytes,
        connections: @cache.connections,
        failed: @failures.not_stored,
        first_error: @count.first_error,
        tiers: @cache.tier_counts,
        operations: @count.over(@timed),
      }
      path = "#{@plan.folder}/ran-#{@number}-#{@process}.json"
      File.binwrite("#{path}.part", JSON.generate(result))
      File.rename("#{path}.part", path)
    end

    private

    def over? = !@limit_ns.nil? && @timed >= @limit_ns

    def work_through_block
      at = 0
      while at < @block.count && !over?
        left = @limit_ns.nil? ? SEGMENT_NS : [SEGMENT_NS, @limit_ns - @timed].min
        @usage.start if @alone
        began, done = @loop.run(at, left)
        @usage.stop if @alone
        @start ||= began
        elapsed = @alone ? @timed : began - @start
        @block.segments << Segment.new(at, done - 1, began, elapsed)
        @timed = elapsed + @block.end[done - 1] - began
        @done += done - at
        @failures.settle
        at = done
        yield @done
      end
    end
  end
end
