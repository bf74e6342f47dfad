# frozen_string_literal: true

require "set"
require_relative "block"
require_relative "header"

module LarderGuest
  # Decides whether an unexpected value is right because another process stored a newer value, and otherwise in which
  # way it is wrong. The judge sees only values that differ from the expected one.
  class Judge
    # A value without a header that is at least this long hardly ever equals another value by chance.
    TELLING_BYTES = 8

    # Keys that may have any of their values, for a change of them was not acknowledged.
    attr_reader :uncertain

    def initialize(plan)
      @plan = plan
      @uncertain = Set.new
    end

    def distrust(key) = @uncertain << key

    # The outcome of operation `n` of the block, which got `got` instead of the expected value.
    def verdict(block, n, got)
      if !@plan.replays? && right?(block, n, got)
        block.bytes_of[n] = got.bytesize if got.bytesize != block.want[n].bytesize
        return RIGHT
      end
      block.bytes_of[n] = got.bytesize
      outcome = @plan.replays? ? DAMAGED : wrong(block.key_index[n], block.want[n], got)
      block.note_wrong(n, outcome, got)
      outcome
    end

    private

    # In which way the value `got` of a key is wrong, where `want` would have been right.
    def wrong(key, want, got)
      return wrong_without_header(key, want, got) if got.bytesize < Header::BYTES

      tag, length = @plan.header.read_intact(got)
      return DAMAGED if tag.nil?
      return OTHER_KEY if tag != @plan.header.tag_of(key)

      got.bytesize < length ? TRUNCATED : STALE
    end

    # Where the key's values are shorter than a header, their bytes alone tell them apart. Otherwise a truncated value
    # begins as the tag of its key does.
    def wrong_without_header(key, want, got)
      newest = @plan.newest[key]
      if !newest.zero? && @plan.value(newest).bytesize < Header::BYTES
        return STALE if got.bytesize >= TELLING_BYTES && @plan.numbers_of(key).key?(got)

        is_cut = !want.equal?(Block::NONE) && got.bytesize < want.bytesize && want.start_with?(got)
      else
        is_cut = [@plan.header.tag_of(key)].pack("Q<").start_with?(got.byteslice(0, 8))
      end
      is_cut ? TRUNCATED : DAMAGED
    end

    # Whether `got` is one of the key's values from the oldest right one to the newest. A hot key has thousands of
    # values, and the clock runs. So the first bytes of `got` give the number of the one value to compare it with. Where
    # the key must be absent, no number is large enough.
    def right?(block, n, got)
      key = block.key_index[n]
      number = @plan.numbers_of(key)[got.byteslice(0, Header::BYTES)]
      return false if number.nil?

      # The value of a fill under another key says nothing about the values of this key.
      is_new = number >= block.value[n] || block.under_index[n] != key
      (is_new || @uncertain.include?(key)) && block.value?(number, got)
    end
  end
end
