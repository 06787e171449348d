#!/usr/bin/env bash
# Makes Pythons of another processor, another libc and the newest version in build/pythons/, for try_wheel.sh; on Debian and
# its relatives, by its packages. Each is a folder NAME-VERSION with a file `command`, which says how it is run.
#
#   other_pythons.sh
set -euo pipefail

pythons=$PWD/build/pythons
key=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=http://deb.debian.org/debian
zig="$PWD/.venv/bin/python -m ziglang"

# apt TOOL ARCHITECTURE ARGUMENT…: apt-get and the like with lists of its own, so that this machine's stay as they are.
apt() {
    local tool=$1 architecture=$2 state=$pythons/apt-$2
    shift 2
    if [[ ! -d $state ]]; then
        mkdir -p "$state"/{lists/partial,cache/archives/partial}
        printf 'deb [signed-by=%s] %s %s main\n' $key $mirror bookworm $key $mirror sid >"$state/sources.list"
        printf 'deb-src [signed-by=%s] %s %s main\n' $key $mirror forky >>"$state/sources.list"
        apt get "$architecture" -q update >/dev/null
    fi
    "apt-$tool" -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Sandbox::User=root \
        -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$state/lists" \
        -o Dir::Cache="$state/cache" "$@"
}

# debian ARCHITECTURE SUITE VERSION LOADER…: unpacks a Python with the libraries that it and wheels link to; LOADER runs it.
debian() {
    local architecture=$1 suite=$2 version=$3 root=$pythons/$1-$3
    shift 3
    mkdir -p "$root/debs"
    local packages=("python$version" "python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib" libc6 libexpat1
        zlib1g libffi8 libbz2-1.0 liblzma5 libgcc-s1 libstdc++6 libuuid1 libcrypt1 libzstd1 tzdata
        "$([[ $suite == sid ]] && echo libssl3t64 || echo libssl3)")
    (cd "$root/debs" && apt get "$architecture" -q download "${packages[@]/%//$suite}" >/dev/null)
    for package in "$root"/debs/*.deb; do dpkg -x "$package" "$root"; done
    [[ -e $root/lib ]] || ln -s usr/lib "$root/lib"
    echo "${*//ROOT/$root} $root/usr/bin/python$version" >"$root/command"
}

# musl VERSION: from source by zig, with a zlib inside; without OpenSSL, so pip takes what it needs from files.
musl() {
    local root=$pythons/musl-$1 cc=$pythons/cc-musl
    mkdir -p "$root/source"
    printf '#!/bin/sh\nexec %s cc -target %s-linux-musl -dynamic "$@"\n' "$zig" "$(uname -m)" >"$cc"
    chmod +x "$cc"
    (
        cd "$root/source"
        apt get amd64 -q source --download-only --tar-only "python$1" zlib >/dev/null
        mkdir -p zlib python lib
        tar -xf zlib_*.orig.tar.* -C zlib --strip-components 1
        tar -xf "python$1"_*.orig.tar.* -C python --strip-components 1
        cd zlib
        for file in adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil; do
            "$cc" -O2 -fPIC -c $file.c -o $file.musl.o
        done
        $zig ar rcs ../lib/libz.a ./*.musl.o
        cd ../python
        CC=$cc AR="$zig ar" RANLIB="$zig ranlib" ZLIB_CFLAGS="-I$root/source/zlib" ZLIB_LIBS="-L$root/source/lib -lz" \
            PKG_CONFIG=false ./configure -q --prefix="$root" --disable-test-modules --disable-ipv6 --without-ensurepip
        make -s && make -s install
    )
    echo "$root/bin/python$1" >"$root/command"
}

debian amd64 sid 3.15 ROOT/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 --library-path ROOT/usr/lib/x86_64-linux-gnu
debian arm64 bookworm 3.11 qemu-aarch64-static -L ROOT
debian arm64 sid 3.15 qemu-aarch64-static -L ROOT
musl 3.13
