"""A guest of Larder in Python."""
