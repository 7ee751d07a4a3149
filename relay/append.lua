-- Append entries directly after the expected last one: all of them or none.
-- KEYS[1] stream
-- ARGV    expected last ID, relay, published_at, shard, 1: set groups back, and for each entry its ID
--         and the values of its row's fields as in common/event.h, '' for one that is left out
-- Gives {1, last ID, length}, or {0, actual last ID} when nothing was added.
local ROW = {'id', 'source', 'type', 'subject', 'time', 'traceparent', 'data', 'first_position'}
local FIRST, STEP = 6, #ROW + 1
local key, expected = KEYS[1], ARGV[1]

local last = last_id(key)
if last ~= expected then
	return {0, last}
end
local before = expected
for i = FIRST, #ARGV, STEP do
	if not less(before, ARGV[i]) then
		return redis.error_reply('ERR append: ' .. ARGV[i] .. ' does not follow ' .. before)
	end
	before = ARGV[i]
end

-- The first XADD is the first write: when maxmemory refuses it, nothing has happened, and once it is
-- done the others are not refused.
-- This loop is most of what an append costs: one table for all entries, and no global looked up.
local argv, call, unpack = ARGV, redis.call, unpack
local relay, published_at, shard = argv[2], argv[3], argv[4]
local xadd = {'XADD', key}
for i = FIRST, #argv, STEP do
	local n = 3
	xadd[n] = argv[i]
	for f = 1, STEP - 1 do
		local value = argv[i + f]
		if value ~= '' then
			xadd[n + 1], xadd[n + 2] = ROW[f], value
			n = n + 2
		end
	end
	xadd[n + 1], xadd[n + 2], xadd[n + 3] = 'shard', shard, 'relay'
	xadd[n + 4], xadd[n + 5], xadd[n + 6] = relay, 'published_at', published_at
	call(unpack(xadd, 1, n + 6))
end

-- A group beyond the end would never be given what was just added.
if ARGV[5] == '1' then
	for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
		if less(last, field(group, 'last-delivered-id')) then
			redis.call('XGROUP', 'SETID', key, field(group, 'name'), last)
		end
	end
end
return {1, before, redis.call('XLEN', key)}
