# frozen_string_literal: true

require "json"
require_relative "block"
require_relative "failure"

module LarderGuest
  # The records of a process in a phase: blocks of what came of its operations, and at the end what the process knows of
  # itself. They go over a pipe to Larder, which counts them. Before the process goes on with its next block, whose
  # clock runs, it waits for a byte. Meanwhile it makes that block ready, so that it seldom has to wait.
  class Records
    # The kinds of parts.
    BLOCK = 1
    END_OF_PHASE = 2

    # Opens the pipes of a process.
    def initialize(folder, process)
      @records = File.open("#{folder}/records-#{process}", "wb")
      @records.sync = true
      @next = File.open("#{folder}/next-#{process}", "rb")
      @has_explained = false
      @is_counting = false
    end

    # Sends what came of the first `count` operations of a block.
    def send_block(block, count)
      notes = notes(block)
      part = [count, block.segments.length, notes.length, 0].pack("V4")
      block.segments.each { |first, began| part << [first, 0, began].pack("VVQ<") }
      part << block.end.first(count).pack("Q<*") << block.outcome.first(count).pack("C*")
      send_part(BLOCK, part << notes.join)
      @is_counting = true
    end

    # Waits until Larder has counted the block that was sent.
    def await_count
      @next.sysread(1) if @is_counting
      @is_counting = false
    rescue EOFError
      # Larder has ended, and nobody needs the rest.
      exit!(0)
    end

    # Sends the end of the phase, a hash.
    def send_end(known)
      await_count
      send_part(END_OF_PHASE, JSON.generate(known).b)
    end

    def close = [@records, @next].each(&:close)

    private

    def send_part(kind, part)
      @records.write([kind, part.bytesize].pack("V2") << part)
    rescue Errno::EPIPE
      exit!(0)
    end

    # The notes of a block, in the order of its operations. An operation that failed has that note alone.
    def notes(block)
      block.others.merge(block.errors).sort_by(&:first).map do |n, noted|
        kind, number, bytes = noted.is_a?(Failure) ? [OF_ERROR, 0, words(noted)] : noted
        [n, kind, number, bytes.bytesize].pack("V4") << bytes
      end
    end

    # The kind of a failure, and in the first of a process its text.
    def words(failure)
      return failure.kind.b if @has_explained

      @has_explained = true
      "#{failure.kind}\n#{failure.message}".b
    end
  end
end
