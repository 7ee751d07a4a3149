# Makes a service's /etc/umavez/*.env from its --help: each option with what it is for, commented out.
BEGIN {
	print "# " title
	print "#"
	print "# NAME=value, one a line, read by systemd.  A value with blanks, quotes or backslashes stands in"
	print "# single quotes.  NAME_FILE=/path reads the value from a file that the user umavez can read."
}

/^  --/ { help = ""; sub(/^  --[^ ]+( [A-Z0-9.]+)?/, "") }

/^ / {
	sub(/^ +/, "")
	if (/^\[/) {
		sub(/^\[/, "")
		repeated = sub(/, comma-separated\]/, "")
		sub(/\]$/, "")
		if (help !~ /^\n# For tests/)
			printf "%s\n#%s=%s\n", help, $0, fallback
		help = fallback = ""
	} else if (/^default: /) {
		fallback = substr($0, 10)
	} else if (/^or from a file: /) {
		help = help "\n# or from a file, by the same name with _FILE"
	} else if (/^may be given again/) {
		help = help "\n# may be several, comma-separated"
	} else if (length) {
		help = help "\n# " $0
	}
}
