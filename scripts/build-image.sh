#!/bin/sh
# Builds deploy/Dockerfile with buildah, on Debian's packages and the Node of `npm ci`: it needs no
# image registry and no Docker engine, but root, buildah and debootstrap.
#
#   scripts/build-image.sh NAME [BUILDAH-OPTION…]
#
# The base image, localhost/pubring-node, is kept for the next build.
set -eu
name=$1
shift
root=$(dirname "$(readlink -f "$0")")/..
export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}"

if ! buildah inspect --type image localhost/pubring-node >/dev/null 2>&1; then
  base=$(mktemp -d)
  trap 'rm -rf "$base"' EXIT
  # libatomic1 is a library of Node 26.
  debootstrap --variant=minbase --include=libatomic1,ca-certificates stable "$base" >&2
  rm -rf "$base"/var/cache/apt/archives/*.deb "$base"/var/lib/apt/lists/*
  chroot "$base" useradd --create-home --uid 1000 node
  cp -L "$root/node_modules/.bin/node" "$base/usr/local/bin/node"
  cp -r "$(dirname "$(readlink -f "$(command -v npm)")")/.." "$base/usr/local/lib/npm"
  ln -s ../lib/npm/bin/npm-cli.js "$base/usr/local/bin/npm"
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$base" / >&2
  buildah commit --quiet --rm "$container" localhost/pubring-node >&2
fi

# The format has health checks, which that of OCI does not.
exec buildah build --format docker --pull-never --build-arg NODE_IMAGE=localhost/pubring-node \
  --file "$root/deploy/Dockerfile" --tag "$name" "$@" "$root"
