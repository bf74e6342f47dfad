-- Gives the lease ARGV[1] for ARGV[2] milliseconds where KEYS[1] is absent or stale and no lease is in force. A value
-- that ends within ARGV[3] milliseconds becomes stale. The answer begins with 0 for a value that is fresh, 1 for the
-- lease, or 2 for the lease of another; then come the value, and its TTL in milliseconds, -1 for none, if ARGV[4] asks for it.
local function left() return ARGV[4] == '1' and redis.call('PTTL', KEYS[1]) or -1 end

local value = redis.pcall('GET', KEYS[1])
local found = {value = false, over = -1}
if type(value) == 'string' then
  if ARGV[3] == '0' then return {0, value, left()} end
  local rest = redis.call('PTTL', KEYS[1])
  if rest < 0 or rest > tonumber(ARGV[3]) then return {0, value, rest} end
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'larder', '1', 'v', value)
  -- A TTL of 0 would remove the value before it is answered.
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(rest, 1)))
  found.value = value
elseif value then
  found = kept()
  if not found then return value end
end
local time = now()
if time <= found.over then return {2, found.value, left()} end
-- A number that Lua turns into text itself may get an exponent.
local over = string.format('%.0f', time + ARGV[2])
redis.call('HSET', KEYS[1], 'larder', '1', 'l', ARGV[1], 'u', over)
-- The lease of a stale entry ends with the entry, if not before.
if not found.value then redis.call('PEXPIREAT', KEYS[1], over) end
return {1, found.value, left()}
