# frozen_string_literal: true

require_relative "failure"
require_relative "phase"

module LarderGuest
  # A phase that several processes share: one child for each, forked when the phase begins. All children begin together,
  # and each reports its progress over a pipe of its own. No child outlives this process: a child whose report fails
  # ends.
  class Processes
    # The longest wait for a message of a child or a command.
    WAIT_S = 0.25
    PIECE = 65_536

    # A child as its parent knows it.
    Child = Struct.new(:process, :pid, :pipe, :text, :operations, :is_ready, :is_over)

    def initialize(protocol, plan, cache, number)
      @protocol = protocol
      @plan = plan
      @cache = cache
      @number = number
      @children = []
    end

    # Runs the phase in all processes, and calls the block with the operations of all several times a second.
    def run(&tell)
      wait, start = IO.pipe
      @plan.processes.times { |process| fork_child(process, wait, start) }
      attend(tell, &:is_ready)
      # One write starts all children; each reads a byte.
      start.syswrite("." * @plan.processes)
      attend(tell, &:is_over)
    ensure
      end_children
      [wait, start].each(&:close)
    end

    private

    # Kills the children that still run, and waits for them.
    def end_children
      @children.each do |child|
        if child.pid
          Process.kill("KILL", child.pid)
          Process.wait(child.pid)
        end
        child.pipe.close
      end
      @children = []
    end

    def fork_child(process, wait, start)
      from_child, to_parent = IO.pipe
      pid = fork do
        code = 1
        begin
          [from_child, start, *@children.map(&:pipe)].each(&:close)
          @protocol.release
          code = 0 if work(process, wait, to_parent)
        ensure
          # A normal exit would also end the parent's connections.
          exit!(code)
        end
      end
      to_parent.close
      @children << Child.new(process, pid, from_child, String.new, 0, false, false)
    end

    # The work of a child, which reports in lines: `ready`, a number of operations, `over`, or `failed`, a kind and a
    # text.
    def work(process, wait, to_parent)
      write = ->(line) { to_parent.syswrite("#{line}\n") }
      phase = Phase.new(@plan, @cache.after_fork, @number, process)
      write.call("ready")
      return false if wait.sysread(1).empty?

      phase.run(&write)
      write.call("over")
      true
    rescue StandardError => e
      failure = Failure.of(e)
      write.call("failed #{failure.kind} #{failure.message}")
      false
    end

    # Listens until the condition holds for every child.
    def attend(tell, &is_enough)
      until @children.all?(&is_enough)
        talking = @children.reject(&:is_over).to_h { |child| [child.pipe, child] }
        ready, = IO.select([*talking.keys, @protocol.input], nil, nil, WAIT_S)
        ready&.each { |pipe| listen(talking[pipe]) if talking.key?(pipe) }
        tell.call(@children.sum(&:operations))
      end
    end

    def listen(child)
      child.text << child.pipe.sysread(PIECE)
      *lines, child.text = child.text.split("\n", -1)
      lines.each { |line| hear(child, line) }
    rescue EOFError
      raise death(child)
    end

    def hear(child, line)
      word, rest = line.split(" ", 2)
      case word
      when "ready" then child.is_ready = true
      when "over" then child.is_over = true
      when "failed"
        kind, text = rest.split(" ", 2)
        raise Failure.new(kind, "#{name(child)}: #{text}")
      else child.operations = Integer(word)
      end
    end

    # The failure of a child that has ended too early.
    def death(child)
      pid, child.pid = child.pid, nil
      _, status = Process.wait2(pid)
      how = status.signaled? ? "was ended by signal #{status.termsig}" : "ended with exit code #{status.exitstatus}"
      Failure.new("other", "#{name(child)} #{how} before its share was done")
    end

    def name(child) = "process #{child.process + 1} of #{@plan.processes}"
  end
end
