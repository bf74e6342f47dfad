-- A value and whether it is stale, 1 or 0; nil where there is none. ARGV is a command for the TTL of what is found, if
-- any.
local value, stale = redis.pcall('GET', KEYS[1]), 0
if type(value) == 'table' then
  local found = kept()
  if not found then return value end
  value, stale = found.value, 1
end
if not value then return false end
if ARGV[1] then redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2)) end
return {value, stale}
