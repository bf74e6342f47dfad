# frozen_string_literal: true

module LarderGuest
  # The header of a value: the tag of its key, its version, its length and a checksum. With the seed of the plan it
  # identifies any value of this run, also a value of an earlier round.
  class Header
    BYTES = 24
    MASK = (1 << 64) - 1

    # `seed` is in hexadecimal digits; values begin in the first `span` bytes of `pool`.
    def initialize(seed, span, pool)
      @seed = seed.to_i(16)
      @span = span
      @pool = pool
    end

    # The tag of the key with this index.
    def tag_of(key) = mix(@seed ^ (key << 1 | 1))

    # The header of a value, for a program that composes values itself.
    def of(key, version, length)
      tag = tag_of(key)
      [tag, version, length, checksum(tag, version, length)].pack("Q<L<L<Q<")
    end

    # The place in the pool where the value of this key and version begins.
    def offset(key, version) = mix(tag_of(key) ^ version) % @span

    # The tag and the length in the header of a value of this run, which may be truncated behind its header. nil where
    # `value` is no such value: a byte differs, or it has more bytes than its header says.
    def read_intact(value)
      return nil if value.bytesize < BYTES

      tag, version, length, told = value.unpack("Q<L<L<Q<")
      return nil if value.bytesize > length || told != checksum(tag, version, length)

      at = mix(tag ^ version) % @span
      rest = value.bytesize - BYTES
      value.byteslice(BYTES, rest) == @pool.byteslice(at + BYTES, rest) ? [tag, length] : nil
    end

    private

    def checksum(tag, version, length) = mix(tag ^ mix((version << 32 | length) ^ @seed))

    # The finalizer of SplitMix64 (Steele, Lea, Flood 2014), modulo 2 to the 64th.
    def mix(x)
      x = (x + 0x9E37_79B9_7F4A_7C15) & MASK
      x = (x ^ (x >> 30)) * 0xBF58_476D_1CE4_E5B9 & MASK
      x = (x ^ (x >> 27)) * 0x94D0_49BB_1331_11EB & MASK
      x ^ (x >> 31)
    end
  end
end
