# frozen_string_literal: true

require "json"

module LarderGuest
  # Commands in, answers out. Both streams are used without Ruby's own buffers: a length counts bytes, and the system
  # tells whether a command waits.
  class Protocol
    PIECE = 65_536

    attr_reader :input

    def initialize(commands, answers)
      @input = commands.binmode
      @output = answers.binmode
      @buffer = String.new
      @ended = false
    end

    # The next line without its line feed; nil once the input has ended.
    def line
      until (at = @buffer.index("\n"))
        return nil unless more
      end
      line = @buffer.slice!(0..at)
      line.chomp!.force_encoding(Encoding::UTF_8).scrub("?")
    end

    # The `length` bytes that follow a line.
    def bytes(length)
      while @buffer.bytesize < length
        raise EOFError, "the input ended within #{length} announced bytes" unless more
      end
      @buffer.slice!(0, length)
    end

    # Writes one answer, and the bytes that belong to it.
    def answer(answer, value = "")
      rest = (JSON.generate(answer) << "\n").b << value
      rest = rest.byteslice(@output.syswrite(rest)..) until rest.empty?
    end

    # Whether the input has ended, found out without waiting: the program that gave the commands is gone.
    def ended?
      more while !@ended && IO.select([@input], nil, nil, 0)
      @ended
    end

    # Leaves both streams to the parent process. The input is not merely closed: the next file that is opened would get
    # the number of standard input.
    def release
      @input.reopen(File::NULL)
      @output.close
    end

    private

    def more
      return false if @ended

      @buffer << @input.sysread(PIECE)
      true
    rescue EOFError
      @ended = true
      false
    end
  end
end
