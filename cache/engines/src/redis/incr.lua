-- Adds the number ARGV[1] ARGV[2], a sign and digits, to the decimal number under KEYS[1], whose TTL stays. An absent
-- key gets the digits ARGV[3], if there are any, with the option of a TTL in ARGV[4] and ARGV[5], if there is one. The sum
-- stops at 0 and wraps at 2^64, of which Redis' own INCRBY has only half. Numbers of Lua are exact up to 2^53, so this
-- counts in halves of ten digits. The sum of a stale number is stale, and its lease is over.
local value, is_stale = redis.pcall('GET', KEYS[1]), false
if type(value) == 'table' then
  local found = kept()
  if not found then return value end
  value, is_stale = found.value, true
end
if not value then
  if not ARGV[3] then return false end
  redis.call('SET', KEYS[1], unpack(ARGV, 3))
  return ARGV[3]
end
local digits = string.match(value, '^0*(%d+)$')
if not digits or #digits > 20 or (#digits == 20 and digits > '18446744073709551615') then return -1 end

local function halves(text)
  text = string.rep('0', 20 - #text) .. text
  return tonumber(string.sub(text, 1, 10)), tonumber(string.sub(text, 11))
end

local half = 1e10
local high, low = halves(digits)
local delta_high, delta_low = halves(ARGV[2])
if ARGV[1] == '-' then
  high, low = high - delta_high, low - delta_low
  if low < 0 then high, low = high - 1, low + half end
  if high < 0 then high, low = 0, 0 end
else
  high, low = high + delta_high, low + delta_low
  if low >= half then high, low = high + 1, low - half end
  -- 2^64 is 1844674407 3709551616.
  if high > 1844674407 or (high == 1844674407 and low >= 3709551616) then
    high, low = high - 1844674407, low - 3709551616
    if low < 0 then high, low = high - 1, low + half end
  end
end
local sum = string.match(string.format('%.0f%010.0f', high, low), '^0*(%d+)$')
if is_stale then
  redis.call('HSET', KEYS[1], 'v', sum)
  redis.call('HDEL', KEYS[1], 'l', 'u')
else
  redis.call('SET', KEYS[1], sum, 'KEEPTTL')
end
return sum
