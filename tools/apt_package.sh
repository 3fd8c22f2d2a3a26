#!/usr/bin/env bash
# Gets one package of another Debian release, without installing it, and prints the path of its .deb. The machine's own apt lists are left
# alone: the source is the machine's own with the release exchanged, in an apt configuration of its own below DIR.
#   tools/apt_package.sh RELEASE DIR PATTERN    the newest whose name matches the whole of PATTERN, an extended regular expression
set -eu
# shellcheck source=tools/apt_source.sh
. "$(cd "$(dirname "$0")" && pwd)/apt_source.sh"

die() {
	printf 'apt_package: %s\n' "$*" >&2
	exit 1
}

[ $# -eq 3 ] || die "usage: apt_package.sh RELEASE DIR PATTERN"
release=$1 pattern=$3
mkdir -p "$2"
apt=$(cd "$2" && pwd)
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
rm -f "$apt"/only.* "$apt"/*.deb

# The machine's release has the first word; a machine of another release may still name the wanted one.
write_source() {
	local own text
	own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release | tr -d '"')
	text=$(apt_source_deb822 "$own" "$release")
	if [ -n "$text" ]; then
		printf '%s\n' "$text" >"$apt/only.sources"
		return
	fi
	text=$(apt_source_line "$own" "$release")
	[ -n "$text" ] || return 1
	printf '%s\n' "$text" >"$apt/only.list"
}

with_apt() { # PROGRAM ARGUMENTS...
	local program=$1 source
	shift
	source=$(ls "$apt"/only.*)
	"$program" -o "Dir::Etc::sourcelist=$source" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists" \
		-o "Dir::Cache=$apt/cache" -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false "$@"
}

write_source || die "no Debian source among this machine's apt sources"
with_apt apt-get -q update >"$apt/log" 2>&1 || die "apt-get update of $release failed: $(tail -n 2 "$apt/log")"
package=$(with_apt apt-cache pkgnames | grep -xE "$pattern" | sort -V | tail -n 1)
[ -n "$package" ] || die "$release has no package $pattern"
printf 'apt_package: getting %s of %s\n' "$package" "$release" >&2
(cd "$apt" && with_apt apt-get -q download "$package" >"$apt/log" 2>&1) || die "$package cannot be had: $(tail -n 2 "$apt/log")"
ls "$apt"/*.deb
