-- Copy entries that are not ours where nobody takes them for events.
-- KEYS[1] stream  KEYS[2] the stream for such entries
-- ARGV    after this ID, up to this one, how many at most
-- Gives how many were copied; those that the newest copy comes from or comes after were already.
local LENGTH, FIELDS = 10000, 2000
local after = ARGV[1]
local newest = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local copied = newest and field(newest[2], 'stream_id')
if copied and less(after, copied) and not less(ARGV[2], copied) then
	after = copied
end
local entries = redis.call('XRANGE', KEYS[1], '(' .. after, ARGV[2], 'COUNT', ARGV[3])
for _, entry in ipairs(entries) do
	local copy = {KEYS[2], 'MAXLEN', '~', LENGTH, '*', 'stream_id', entry[1]}
	for i = 1, math.min(#entry[2], FIELDS) do
		copy[#copy + 1] = entry[2][i]
	end
	redis.call('XADD', unpack(copy))
end
return #entries
