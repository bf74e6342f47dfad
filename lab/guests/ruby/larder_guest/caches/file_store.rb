# frozen_string_literal: true

require "English"
require_relative "active_support"

module LarderGuest
  module Caches
    # ActiveSupport's FileStore: a file for each key, written beside its place and renamed. An entry is marshalled, and
    # compressed only where the user says so. A file that cannot be read is reported as a miss, and to a log.
    class FileStore < ActiveSupport::Cache::FileStore
      include ActiveSupportStore

      def self.opened(order)
        said = Caches.given(order, "compression", "compress_threshold")
        options = { compress: said["compression"] || false, compress_threshold: said["compress_threshold"] }.compact
        self_ = new(order["folder"], **options)
        self_.logger = Log.new
        self_.clear if order["fresh"]
        self_
      end

      def settings
        {
          "cache_path" => cache_path,
          "compression" => options[:compress] ? "on, from #{options[:compress_threshold] || 1024} bytes on" : "off",
          "serializer" => "Marshal",
        }
      end

      alias get read

      def set(key, value, ttl)
        write(key, value, ttl)
      rescue SystemCallError
        raise unusable(key) || $ERROR_INFO
      end

      def delete(key, options = nil) = super || false

      def doubts? = true

      # The store writes the reason to its log.
      def failure_of_miss(key)
        said = logger.said
        logger.said = nil
        unusable(key) || (said && Failure.in_words(said))
      end

      # It drops nothing to make room.
      def evictions = 0

      private

      # The failure of a key that names a folder, for which the store has no other name.
      def unusable(key)
        Failure.new("key", "the store takes no key that is empty, `.` or `..`") if ["", ".", ".."].include?(key)
      end
    end
  end
end
