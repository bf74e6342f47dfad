# frozen_string_literal: true

require "json"
require "openssl"

module Larder
  # JSON, for values that are neither Strings nor whole numbers: +nil+, booleans, numbers, Arrays and Hashes of these.
  # Symbols come back as Strings, so the keys of a Hash do too. Other objects are refused, and so are bytes that are no text.
  class Json
    # The flags of an entry in JSON, in all languages.
    FLAGS = 32

    # A value as bytes and flags.
    def dump(value)
      check(value)
      [JSON.generate(value), FLAGS]
    end

    # The value of bytes with flags.
    def load(bytes, flags)
      raise ArgumentError, "a stored value has the flags #{flags}, which JSON does not read" if flags != FLAGS

      JSON.parse(bytes.force_encoding(Encoding::UTF_8))
    end

    private

    # Refuses what JSON would turn into something else without a word.
    def check(value)
      case value
      when nil, true, false, Symbol, Integer, Float then nil
      when String then check_text(value)
      when Array then value.each { |element| check(element) }
      when Hash then value.each { |key, element| check_key(key) || check(element) }
      else raise TypeError, "a value has a #{value.class}, which JSON cannot hold; take SignedMarshal as serializer"
      end
    end

    # Bytes would come back as text.
    def check_text(string)
      return if string.encoding != Encoding::BINARY || string.ascii_only?

      raise TypeError, "a value has a String of bytes inside, and JSON has text; take SignedMarshal as serializer"
    end

    def check_key(key)
      return check_text(key) if key.is_a?(String)
      return if key.is_a?(Symbol)

      raise TypeError, "a Hash has the key #{key.inspect}, and JSON has text as keys; write key.to_s"
    end
  end

  # Any object that Marshal takes, signed: only who knows the key can store what another program loads.
  #
  #   Larder.open("memory:", serializer: Larder::SignedMarshal.new(ENV.fetch("CACHE_SECRET")))
  class SignedMarshal
    # The flags of an entry in signed Marshal, which only Ruby reads.
    FLAGS = 80
    SIGNATURE_BYTES = 32
    SHORTEST_KEY_BYTES = 16
    private_constant :SIGNATURE_BYTES, :SHORTEST_KEY_BYTES

    # The key is a secret of the application.
    def initialize(key)
      if key.bytesize < SHORTEST_KEY_BYTES
        raise ArgumentError, "the key has #{key.bytesize} bytes; take #{SHORTEST_KEY_BYTES} random bytes or more"
      end

      @key = key.b.freeze
    end

    # An object as bytes and flags.
    def dump(value)
      data = Marshal.dump(value)
      [sign(data) << data, FLAGS]
    end

    # The object of bytes with flags.
    def load(bytes, flags)
      raise ArgumentError, "a stored value has the flags #{flags}, which SignedMarshal does not read" if flags != FLAGS

      signature = bytes.byteslice(0, SIGNATURE_BYTES)
      data = bytes.byteslice(SIGNATURE_BYTES..) || ""
      unless signature.bytesize == SIGNATURE_BYTES && OpenSSL.fixed_length_secure_compare(signature, sign(data))
        raise ArgumentError, "a stored value has no valid signature: it was stored with another key, or by somebody else"
      end

      Marshal.load(data)
    end

    # The key is not shown.
    def inspect
      "#<#{self.class}>"
    end

    private

    def sign(data)
      OpenSSL::HMAC.digest("SHA256", @key, data)
    end
  end
end
