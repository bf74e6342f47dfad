# frozen_string_literal: true

require_relative "block"
require_relative "failures"
require_relative "loop"
require_relative "records"
require_relative "usage"

module LarderGuest
  # One process's share of a phase: blocks are made ready, worked through, sent to Larder. A process alone stops its
  # clock while it prepares and sends. Each of several processes keeps its clock running, because the other processes
  # have the cache to themselves meanwhile. So each of them prepares and sends as much at once as memory allows, mostly
  # everything.
  class Phase
    # The limits of a block. For a process alone: as much as stays in a processor's cache.
    ALONE = { operations: 4_096, bytes: 4 << 20 }.freeze
    SEVERAL = { operations: 262_144, bytes: 64 << 20 }.freeze
    # The longest segment of the loop; between segments the guest reports its progress.
    SEGMENT_NS = 250_000_000

    # The share of process `process` of phase `number`, both counted from 0.
    def initialize(plan, cache, number, process = 0)
      asked = plan.phases[number]
      @cache = cache
      @alone = plan.processes == 1
      @again = asked.again
      @limit_ns = asked.limit_ns
      @first, @operations = asked.shares[process]
      held = plan.replays? ? plan.held_before(number, process) : 0
      cache.set("held", plan.value(held), nil) unless held.zero?
      meets_newer = !@alone || asked.again
      limits = @alone ? ALONE : SEVERAL
      @block = Block.new(plan, **limits, multiget: asked.multiget, meets_newer: meets_newer, held: held)
      @loop = Loop.new(cache, @block, cache.ttl_argument(plan.ttl_s))
      @failures = Failures.new(cache, @block)
      @records = Records.new(plan.folder, process)
      @usage = Usage.new
      @start = nil
      @timed = 0
      @done = 0
      @filled = @block.fill(@first, @operations)
    end

    # Does the share, sends its records, and calls the block with the number of operations done so far several times a
    # second.
    def run(&tell)
      @cache.connections
      @cache.tier_counts
      @usage.start unless @alone
      position = 0
      until @filled.zero?
        @records.await_count
        @records.send_block(@block, work_through_block(&tell))
        @failures.next_block
        break if over?

        position += @filled
        position = 0 if @again && position == @operations
        @filled = @block.fill(@first + position, @operations - position)
      end
      @usage.stop unless @alone
      @records.send_end(known)
    ensure
      @records.close
    end

    private

    # What the process knows of itself at the end.
    def known
      user_ns, system_ns = @usage.cpu_ns
      {
        cpu_user_ns: user_ns,
        cpu_system_ns: system_ns,
        rss_bytes: Usage.rss_bytes,
        connections: @cache.connections,
        tiers: @cache.tier_counts,
      }
    end

    def over? = !@limit_ns.nil? && @timed >= @limit_ns

    # Returns the number of operations of the block that are done.
    def work_through_block
      at = 0
      while at < @block.count && !over?
        left = @limit_ns.nil? ? SEGMENT_NS : [SEGMENT_NS, @limit_ns - @timed].min
        @usage.start if @alone
        began, done = @loop.run(at, left)
        @usage.stop if @alone
        @start ||= began
        @block.segments << [at, began]
        ended = @block.end[done - 1]
        @timed = @alone ? @timed + ended - began : ended - @start
        @done += done - at
        @failures.settle
        at = done
        yield @done
      end
      at
    end
  end
end
