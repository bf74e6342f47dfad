# frozen_string_literal: true

require "timeout"

module LarderGuest
  # A failed operation, with a kind that is counted and a text of one line.
  class Failure < StandardError
    # Words by which the class or the message of an exception tells the kind of a failure.
    KINDS = [
      ["timeout", /tim(?:ed|e)[ -]?out/i],
      ["too_large", /too (?:large|big|long)|over max size|OverMaxSize/i],
      ["full", /out of memory|no space left|disk quota/i],
      ["io", /connection|is down|no server available|is a directory|permission denied|input.output|NetworkError/i],
    ].freeze
    FULL = [Errno::ENOSPC, Errno::EDQUOT, Errno::ENOMEM].freeze

    attr_reader :kind

    def initialize(kind, text)
      @kind = kind
      text = text.dup.force_encoding(Encoding::UTF_8).scrub("?").split.join(" ")
      super(text.empty? ? "an error without a message" : text)
    end

    # The failure of a caught exception: a failure as it is, any other exception by its class and its words.
    def self.of(error)
      case error
      when self then error
      when Timeout::Error then new("timeout", error.message)
      when *FULL then new("full", error.message)
      when SystemCallError, IOError then new("io", error.message)
      else in_words(error.message, error.class.name)
      end
    end

    # A failure whose kind its words tell.
    def self.in_words(text, name = "")
      kind, = KINDS.find { |_, words| words.match?("#{name} #{text.scrub("?")}") }
      new(kind || "other", text)
    end

    def answer = { error: message, kind: kind }
  end
end
