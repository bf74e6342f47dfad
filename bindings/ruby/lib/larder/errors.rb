# frozen_string_literal: true

module Larder
  # The base of all errors of Larder. +kind+ names each, such as +:timeout+; it is +nil+ where a store was misused.
  class Error < StandardError
    attr_reader :kind

    def initialize(message = nil, kind: nil)
      super(message)
      @kind = kind
    end
  end

  # A URL, an option or a key that must be written differently.
  class UsageError < Error; end

  # The store does not answer, or failed on the way.
  class UnavailableError < Error; end

  # The store cannot do this.
  class UnsupportedError < Error; end

  # The store took no value: it is too large, or there is no room.
  class RefusedError < Error; end

  # The value under a key is not a number that can be counted.
  class NotANumberError < Error; end

  class Error
    # The kinds and classes of the library's codes, which larder.h lists.
    CODES = Ractor.make_shareable({
      -1 => [:argument, UsageError],
      -2 => [:panic, Error],
      -3 => [:key_too_long, UsageError],
      -4 => [:invalid_key, UsageError],
      -5 => [:value_too_large, RefusedError],
      -6 => [:full, RefusedError],
      -7 => [:corrupted, UnavailableError],
      -8 => [:busy, UnavailableError],
      -9 => [:timeout, UnavailableError],
      -10 => [:unavailable, UnavailableError],
      -11 => [:forked, UnavailableError],
      -12 => [:unsupported, UnsupportedError],
      -13 => [:not_a_number, NotANumberError],
      -14 => [:unknown_scheme, UsageError],
      -15 => [:invalid_url, UsageError],
      -16 => [:invalid_options, UsageError],
      -17 => [:protocol, UnavailableError],
      -18 => [:io, UnavailableError],
      -19 => [:no_answer, UnavailableError],
      -20 => [:other, UnavailableError]
    })
    private_constant :CODES

    # The error of a code of the library.
    def self.of(code, message)
      kind, type = CODES.fetch(code) { CODES[-20] }
      # Flags tell the forms of values, so their names say nothing to who stores text.
      message += "; it stores bytes only: write value.b" if message.end_with?("no operation `flags`")
      type.new(message, kind: kind)
    end
  end
end
