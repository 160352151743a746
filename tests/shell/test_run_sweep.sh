#!/bin/sh
# SPDX-License-Identifier: MIT
# run_sweep itself: where it finds things, what it builds when, what it says when something is missing. The tools it calls
# are stand-ins that write down how they were called, so that nothing is compiled or installed here.
#
# Usage: test_run_sweep.sh FOLDER_OF_THE_PROJECT
set -u
project=${1:?the folder of the project}
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
home="$work/a project with spaces"
tools=$work/tools
calls=$work/calls
mkdir -p "$home" "$tools" "$work/elsewhere"
cp "$project/run_sweep" "$home/run_sweep"
failures=0
CC="" BUILD="" SCRIPT="" # of run() below, and not of the caller

fail() {
    printf 'FAILED: %s\n' "$1"
    [ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/    /'
    failures=$((failures + 1))
}

stand_in() { # name, then its script on stdin
    rm -f "$tools/$1" # it may be a link to the real tool, which writing would follow
    { printf '#!/bin/sh\necho "%s $*" >>"%s"\n' "$1" "$calls"; cat; } >"$tools/$1"
    chmod +x "$tools/$1"
}

# Real tools that the script may use, by link, so that PATH can hold these and the stand-ins alone.
for name in sh cat chmod cp cut dirname env grep head id ls mkdir mktemp printf pwd readlink rm sed sleep tail tr flock true; do
    for folder in /usr/bin /bin /usr/local/bin; do
        [ ! -x "$folder/$name" ] || { ln -sf "$folder/$name" "$tools/$name"; break; }
    done
done

fresh_tools() {
    rm -f "$tools/dnf" "$tools/apt-get" "$tools/sudo"
    stand_in cc </dev/null
    stand_in gnuplot </dev/null
    stand_in pkg-config </dev/null
    stand_in meson <<'END'
[ "$1" = --version ] && { echo 1.0.1; exit 0; }
shift
case $1 in --wipe | --reconfigure) shift ;; esac
mkdir -p "$1/meson-private" && : >"$1/build.ninja"
END
    stand_in ninja <<'END'
mkdir -p "$2/experiments/driver"
cat >"$2/experiments/driver/convscale" <<'PROGRAM'
#!/bin/sh
echo "home=$CONVSCALE_HOME"
for argument; do echo "argument=$argument"; done
exit 7
PROGRAM
chmod +x "$2/experiments/driver/convscale"
END
}

# run ARGUMENTS...: run_sweep in a clean world; sets status, out (both streams).
run() {
    out=$(cd "$work/elsewhere" && env -i PATH="$tools" HOME="$work" ${CC:+CC="$CC"} ${BUILD:+CONVSCALE_BUILD="$BUILD"} \
        sh "${SCRIPT:-$home/run_sweep}" "$@" 2>&1 </dev/null)
    status=$?
}

expect_status() { [ "$status" -eq "$1" ] || fail "$2: exit $status, expected $1" "$out"; }
expect_out() { case $out in *"$1"*) ;; *) fail "$2: expected \"$1\" in:" "$out" ;; esac; }
expect_calls() { grep -q -- "$1" "$calls" || fail "$2: expected a call like \"$1\" in:" "$(cat "$calls")"; }
count_calls() { grep -c -- "$1" "$calls"; }

fresh_tools

# Builds once, passes arguments and the program's exit code on, from any folder.
: >"$calls"
run "one argument" '*' --two
expect_status 7 'first run'
expect_out "argument=one argument" 'first run'
expect_out "argument=*" 'first run'
expect_out "argument=--two" 'first run'
expect_out "home=$home" 'first run'
[ "$(count_calls '^meson setup')" -eq 1 ] || fail 'first run: configured once' "$(cat "$calls")"
[ "$(count_calls '^ninja')" -eq 1 ] || fail 'first run: built once' "$(cat "$calls")"

: >"$calls"
run
expect_status 7 'second run'
[ "$(count_calls '^meson')" -eq 0 ] || fail 'second run: not configured again' "$(cat "$calls")"

# Through links, one relative to the other.
mkdir -p "$work/links"
ln -s "$home/run_sweep" "$work/links/sweep"
ln -s sweep "$work/links/again"
SCRIPT=$work/links/again
run
expect_status 7 'through links'
expect_out "home=$home" 'through links'
SCRIPT=

# --no-build builds nothing, and says so when there is nothing.
: >"$calls"
run --no-build x
expect_status 7 '--no-build'
[ "$(count_calls '^ninja')" -eq 0 ] || fail '--no-build: built' "$(cat "$calls")"
BUILD="$work/no such"
run --no-build x
expect_status 2 '--no-build without a program'
expect_out 'there is no program' '--no-build without a program'
BUILD=

# CONVSCALE_BUILD, relative to where the user is; --build-only says where.
BUILD=my-build
run --build-only
expect_status 0 '--build-only'
expect_out "$work/elsewhere/my-build" '--build-only'
[ -x "$work/elsewhere/my-build/experiments/driver/convscale" ] || fail 'CONVSCALE_BUILD is honoured'
BUILD=$work/full
mkdir -p "$work/full"
: >"$work/full/something"
run
expect_status 2 'a folder that is none of ours'
expect_out 'is not empty and no build folder' 'a folder that is none of ours'
BUILD=

# Another compiler, another place: configured anew. Anything else: left alone.
: >"$calls"
stand_in clang </dev/null
CC=clang
run
expect_calls '^meson setup --wipe' 'another compiler'
CC=
: >"$calls"
run
[ "$(count_calls '^meson')" -eq 0 ] || fail 'without CC the folder keeps its compiler' "$(cat "$calls")"
cp -R "$home" "$work/moved"
home_before=$home
home=$work/moved
: >"$calls"
run
expect_calls '^meson setup --wipe' 'a moved project'
home=$home_before

# A failing build: the compiler's words, exit 2.
stand_in ninja <<'END'
echo "error: expected ';' before '}'"
exit 1
END
run
expect_status 2 'a failing build'
expect_out "expected ';' before" 'a failing build'
fresh_tools

# Two at once: one builds, the other waits.
rm -rf "$home/build"
stand_in ninja <<END
echo begin >>"$work/order"
sleep 1
echo end >>"$work/order"
mkdir -p "\$2/experiments/driver"
printf '#!/bin/sh\nexit 0\n' >"\$2/experiments/driver/convscale"
chmod +x "\$2/experiments/driver/convscale"
END
for lock in flock none; do
    [ "$lock" = flock ] || rm -f "$tools/flock"
    rm -rf "$home/build"
    : >"$work/order"
    (run; [ "$status" -eq 0 ] || echo "$out" >"$work/first") &
    first=$!
    run
    wait "$first"
    expect_status 0 "two at once, $lock"
    [ ! -f "$work/first" ] || fail "two at once, $lock: the other one failed" "$(cat "$work/first")"
    [ "$(tr '\n' ' ' <"$work/order")" = 'begin end begin end ' ] || fail "two at once, $lock" "$(cat "$work/order")"
done
[ ! -e "$home/build.lock" ] || fail 'the lock folder is left behind'
mkdir -p "$home/build.lock"
echo 999999999 >"$home/build.lock/pid"
run
expect_status 0 'a lock whose owner is gone'
fresh_tools

# Something is missing: named, with the way to get it; nothing is installed unasked.
cp "$tools/meson" "$work/meson"
rm -rf "$home/build" "$tools/meson"
stand_in apt-get </dev/null
: >"$calls"
run experiments/quick.cfg
expect_status 2 'meson is missing'
expect_out 'missing: meson' 'meson is missing'
expect_out '--setup' 'meson is missing'
[ "$(count_calls '^apt-get')" -eq 0 ] || fail 'installed unasked' "$(cat "$calls")"
stand_in dnf </dev/null
rm "$tools/apt-get"
run experiments/quick.cfg
expect_status 2 'on Fedora'
expect_out 'dnf install meson' 'on Fedora'
run --setup experiments/quick.cfg
expect_status 2 '--setup on Fedora'
expect_out 'missing here: meson' '--setup on Fedora'
rm "$tools/dnf"

# A bare machine: everything is missing, and everything is named.
mv "$tools/cc" "$tools/clang" "$tools/pkg-config" "$tools/ninja" "$work"
stand_in apt-get </dev/null
run x
expect_status 2 'a bare machine'
expect_out 'missing: a working C compiler, meson 1.0 or newer, ninja, pkg-config, libconfig, cJSON, hwloc, zlib;' 'a bare machine'
expect_out 'gcc libc6-dev meson ninja-build pkg-config libconfig-dev libcjson-dev libhwloc-dev zlib1g-dev' 'a bare machine'
mv "$work/cc" "$work/clang" "$work/pkg-config" "$work/ninja" "$tools"

# --setup says what it runs, runs it without questions, and takes sudo only where it asks none.
stand_in apt-get <<END
case "\$*" in *install*) cp "$tools/meson-later" "$tools/meson" ;; esac
END
fresh_meson() {
    cp "$work/meson" "$tools/meson-later"
    rm -f "$tools/meson"
    rm -rf "$home/build"
}
stand_in id <<'END'
echo 0
END
fresh_meson
: >"$calls"
run --setup x
expect_status 7 '--setup as root'
expect_out '+ apt-get update' '--setup as root'
expect_out 'apt-get install -y' '--setup as root'
expect_calls '^apt-get install -y .* meson$' '--setup as root'
stand_in id <<'END'
echo 1000
END
fresh_meson
run --setup x
expect_status 2 '--setup without root or sudo'
expect_out 'needs root or sudo' '--setup without root or sudo'
stand_in sudo <<'END'
exit 1
END
run --setup x
expect_status 2 'sudo with a password'
expect_out 'sudo wants a password' 'sudo with a password'
stand_in sudo <<'END'
[ "$1" = -n ] && shift
exec "$@"
END
: >"$calls"
run --setup x
expect_status 7 '--setup with sudo'
expect_calls '^sudo -n apt-get update' '--setup with sudo'

# Nothing is missing: --setup installs nothing.
: >"$calls"
run --setup x
expect_status 7 '--setup again'
[ "$(count_calls 'apt-get')" -eq 0 ] || fail '--setup again: installed' "$(cat "$calls")"

[ "$failures" -eq 0 ] && echo "run_sweep: all as expected"
exit "$((failures > 0))"
