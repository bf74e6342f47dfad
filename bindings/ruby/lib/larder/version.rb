# frozen_string_literal: true

module Larder
  # The version of the package, which is that of Larder.
  VERSION = "0.2.0"
end
