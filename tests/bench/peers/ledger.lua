-- KEYS: the streams.  Returns how many entries they hold, and how many different messages those are.
local seen, entries, messages = {}, 0, 0
for _, key in ipairs(KEYS) do
	local from = '-'
	repeat
		local part = redis.call('XRANGE', key, from, '+', 'COUNT', 1000)
		for _, entry in ipairs(part) do
			-- { 'id', the message's number, 'data', the event }
			local id = entry[2][2]
			entries = entries + 1
			if not seen[id] then
				seen[id] = true
				messages = messages + 1
			end
			from = '(' .. entry[1]
		end
	until #part == 0
end
return { entries, messages }
