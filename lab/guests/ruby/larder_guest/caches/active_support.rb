# frozen_string_literal: true

require_relative "../cache"
require_relative "../caches"

module LarderGuest
  module Caches
    need "active_support", "active_support/cache", "active_support/digest", "active_support/gem_version", "digest"

    # The common part of the stores of ActiveSupport. Their own `read` and `write` are called, under another name where
    # the form is the same.
    module ActiveSupportStore
      include Cache

      # Keeps the last message of a store that reports a failure in no other way.
      class Log
        attr_accessor :said

        def error(text)
          @said = text
        end

        def debug? = false
      end

      def title = "#{self.class.superclass} #{ActiveSupport.gem_version}"

      def ttl_argument(seconds) = seconds && { expires_in: seconds }.freeze
    end
  end
end
