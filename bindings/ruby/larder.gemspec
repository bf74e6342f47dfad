# frozen_string_literal: true

require_relative "lib/larder/version"

Gem::Specification.new do |gem|
  gem.name = "larder"
  gem.version = Larder::VERSION
  gem.summary = "Caches behind one interface: in memory, in a file that processes share, in memcached or Redis, or a stack of these"
  gem.description = "#{gem.summary}. With ActiveSupport::Cache::LarderStore for Rails."
  gem.authors = ["Larder's authors"]
  gem.licenses = ["MIT", "Apache-2.0"]
  gem.required_ruby_version = ">= 3.0"
  gem.files = Dir.chdir(__dir__) { Dir["README.md", "LICENSE-*", "ext/**/*.{rb,c,h}", "lib/**/*.rb"] }
  gem.extensions = ["ext/larder/extconf.rb"]
  gem.require_paths = ["lib"]
  gem.metadata = { "rubygems_mfa_required" => "true" }
end
