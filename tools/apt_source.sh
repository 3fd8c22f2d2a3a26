# shellcheck shell=bash
# To be sourced. The machine's own apt source of a release, with the suite exchanged: mirror, components and key stay what the owner chose.

# In deb822 form, from /etc/apt/sources.list.d/*.sources; nothing where none names the release.
apt_source_deb822() { # RELEASE SUITE
	local file
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -f "$file" ] || continue
		awk -v release="$1" -v suite="$2" '
			function flush(    i, n, word, hit) {
				n = split(field["suites"], word, " ")
				for (i = 1; i <= n; i++) if (word[i] == release) hit = 1
				if (hit && !done && tolower(field["enabled"]) != "no" && field["types"] ~ /(^| )deb( |$)/) {
					print "Types: deb\nURIs: " field["uris"] "\nSuites: " suite "\nComponents: " field["components"]
					if (field["signed-by"] != "") print "Signed-By:" (key_lines == "" ? " " field["signed-by"] : key_lines)
					if (field["architectures"] != "") print "Architectures: " field["architectures"]
					if (field["trusted"] != "") print "Trusted: " field["trusted"]
					done = 1
				}
				split("", field); key_lines = ""; last = ""
			}
			/^#/ { next }
			/^[ \t]*$/ { flush(); next }
			/^[ \t]/ {  # a value that goes on: a key in place
				if (last == "signed-by") key_lines = key_lines "\n" $0
				else if (last != "") field[last] = field[last] " " $0
				next
			}
			{
				last = tolower(substr($0, 1, index($0, ":") - 1))
				value = substr($0, index($0, ":") + 1)
				gsub(/^[ \t]+|[ \t]+$/, "", value)
				field[last] = value
			}
			END { flush() }' "$file"
	done | awk '/^Types:/ { if (seen++) exit } { print }'
}

# The same in the form of one line, from sources.list and sources.list.d/*.list.
apt_source_line() { # RELEASE SUITE
	local file
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -f "$file" ] || continue
		awk -v release="$1" -v suite="$2" '
			$1 != "deb" { next }
			{
				at = 2
				if ($at ~ /^\[/) while (at <= NF && $at !~ /\]$/) at++
				if ($2 ~ /^\[/) at++
				if ($(at + 1) != release) next
				$(at + 1) = suite
				print
				exit
			}' "$file"
	done | head -n 1
}
