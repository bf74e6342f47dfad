# frozen_string_literal: true

require "json"
require_relative "block"
require_relative "failure"

module LarderGuest
  # The records of a process in a phase: blocks of what came of its operations, and at the end what the process knows of
  # itself. They go over a pipe to Larder, which counts them. After each block the process waits for a byte, so that
  # Larder does not count while the clock runs.
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
    end

    # Sends what came of the first `count` operations of a block, and waits until Larder has counted them.
    def send_block(block, count)
      notes = notes(block)
      part = [count, block.segments.length, notes.length, 0].pack("V4")
      block.segments.each { |first, began| part << [first, 0, began].pack("VVQ<") }
      part << block.end.first(count).pack("Q<*") << block.outcome.first(count).pack("C*")
      send_part(BLOCK, part << notes.join)
      @next.sysread(1)
    rescue EOFError, Errno::EPIPE
      # Larder has ended, and nobody needs the rest.
      exit!(0)
    end

    # Sends the end of the phase, a hash.
    def send_end(known) = send_part(END_OF_PHASE, JSON.generate(known).b)

    def close = [@records, @next].each(&:close)

    private

    def send_part(kind, part) = @records.write([kind, part.bytesize].pack("V2") << part)

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
