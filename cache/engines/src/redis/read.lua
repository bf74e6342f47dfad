-- A value, whether it is stale, 1 or 0, and its TTL in milliseconds, -1 for none, if ARGV[1] asks for it; nil where there is
-- no value. Then comes a command for the TTL of what is found, if any.
local value, stale = redis.pcall('GET', KEYS[1]), 0
if type(value) == 'table' then
  local found = kept()
  if not found then return value end
  value, stale = found.value, 1
end
if not value then return false end
if ARGV[2] then redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3)) end
return {value, stale, ARGV[1] == '1' and redis.call('PTTL', KEYS[1]) or -1}
