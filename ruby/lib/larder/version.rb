# frozen_string_literal: true

module Larder
  # The version of the package, which is that of Larder.
  VERSION = "0.1.0"
end
