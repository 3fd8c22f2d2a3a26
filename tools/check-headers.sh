#!/bin/sh
# Every header compiles alone, and its guard is named after it.
cd "$(dirname "$0")/.." || exit 1
failed=0
for header in user/*.h user/*/*.h include/*.h; do
	if ! "${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Iuser -Iinclude -x c "$header" 2>/dev/null; then
		echo "$header: does not compile alone"
		failed=1
	fi
	guard=$(echo "$header" | sed 's|^user/||; s|^include/||' | tr 'a-z/.' 'A-Z__')
	grep -q "^#ifndef $guard\$" "$header" || { echo "$header: the guard is not $guard"; failed=1; }
done
exit $failed
