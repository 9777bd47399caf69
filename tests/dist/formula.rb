# In the place of Homebrew: evaluates a formula for a system and a processor, and installs it if there is a folder.
#
#   ruby formula.rb FORMULA SYSTEM PROCESSOR [FOLDER]

require "digest"
require "fileutils"
require "open-uri"
require "tmpdir"

SYSTEM, PROCESSOR, PREFIX = ARGV[1..]

# The folder of one kind of files.
class Folder
  def initialize(name)
    @path = File.join(PREFIX, name)
  end

  def install(*files)
    FileUtils.mkdir_p(@path)
    files.flatten.each { |file| put(file) }
  end

  def put(file)
    return FileUtils.cp(file, @path) unless file.is_a?(Hash)

    file.each { |from, to| FileUtils.cp(from, File.join(@path, to)) }
  end

  def to_s
    @path
  end
end

# The part of Homebrew's class that the formula uses.
class Formula
  FACTS = {}
  %i[desc homepage version license url sha256].each { |name| define_singleton_method(name) { |value| FACTS[name] = value } }
  { on_macos: "macos", on_linux: "linux" }.each { |name, system| define_singleton_method(name) { |&block| block.call if SYSTEM == system } }
  { on_arm: "arm", on_intel: "intel" }.each { |name, kind| define_singleton_method(name) { |&block| block.call if PROCESSOR == kind } }
  def self.test; end

  %i[bin man1 bash_completion zsh_completion fish_completion].each { |name| define_method(name) { Folder.new(name.to_s) } }
end

load ARGV[0]
facts = Formula::FACTS
archive = URI.parse(facts.fetch(:url)).read
abort "the checksum of #{facts[:url]} is wrong" unless Digest::SHA256.hexdigest(archive) == facts.fetch(:sha256)
abort "the description has more than 80 letters" if facts.fetch(:desc).length > 80
exit unless PREFIX

Dir.mktmpdir do |folder|
  File.binwrite(File.join(folder, "archive.tar.gz"), archive)
  # Homebrew enters the archive's only folder.
  system("tar", "-xzf", "archive.tar.gz", "--strip-components=1", chdir: folder, exception: true)
  Dir.chdir(folder) { Khorovod.new.install }
end
