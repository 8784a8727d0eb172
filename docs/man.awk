# man.awk - one --help text (see docs/man.sh for its form) as man page source
# SPDX-License-Identifier: GPL-3.0-or-later

function escaped(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	if (text ~ /^[.']/)
		text = "\\&" text
	return text
}

function indent(text) { match(text, /^ */); return RLENGTH }

function paragraph() { if (!fresh) print ".PP"; fresh = 1 }

function to(state) { # "": paragraphs, "tp": inside an option, "nf": as typed
	if (mode == "nf" && state != "nf")
		print ".fi\n.RE"
	if (state == "nf" && mode != "nf")
		print ".RS 4\n.nf"
	mode = state
}

{
	sub(/[ \t]+$/, "")
	was_fresh = fresh
	if ($0 != "")
		fresh = 0
}

$0 == "" {
	if (mode == "nf")
		blank = 1 # between two examples; dropped at the end of them
	else {
		to("")
		paragraph()
	}
	in_usage = 0
	next
}

/^usage:/ {
	sub(/^usage: */, "")
	in_usage = 1
	to("nf")
	print escaped($0)
	next
}

in_usage {
	sub(/^ +/, /^ *orrery / ? "" : "    ")
	print escaped($0)
	next
}

tolower($1) ~ /^example/ { in_example = 1 }

/^ +-/ || (!in_example && /^ *[A-Za-z|]+  +[^ ]/) { # an option, an argument, a verb
	at = indent($0)
	text = substr($0, at + 1)
	to("tp")
	print ".TP"
	# Two blanks end the option; failing that, its last dash word and an ARGUMENT do.
	if (match(text, /  +/)) {
		print ".B " escaped(substr(text, 1, RSTART - 1))
		print escaped(substr(text, RSTART + RLENGTH))
	} else if (match(text, /^--?[a-zA-Z-]+(, --?[a-zA-Z-]+)*( [A-Z][A-Z0-9_=|,.-]*)? /)) {
		print ".B " escaped(substr(text, 1, RLENGTH - 1))
		print escaped(substr(text, RLENGTH + 1))
	} else
		print ".B " escaped(text)
	option_at = at
	blank = 0
	next
}

mode == "tp" && indent($0) > option_at {
	sub(/^ +/, "")
	print escaped($0)
	next
}

/^ / {
	if (mode == "nf" && blank)
		print ""
	blank = 0
	to("nf")
	print escaped(substr($0, 3))
	next
}

{
	to("")
	fresh = was_fresh
	if (blank || /:$/)
		paragraph()
	fresh = blank = 0
	if (/:$/)
		print ".B " escaped($0)
	else
		print escaped($0)
}

END { to("") }
