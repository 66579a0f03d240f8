#!/bin/sh
# certificates.sh DIR: pairs of keys and certificates in DIR, NAME.key and NAME.pem, and store.pem with all that are trusted.
set -eu
cd "$1"
own() {
    name=$1
    shift
    openssl req -x509 -nodes -days 30 -keyout "$name.key" -out "$name.pem" "$@" 2>/dev/null
}
# An authority by default (CA:TRUE), as most that people make themselves.
own own -newkey rsa:2048 -subj /CN=localhost -addext subjectAltName=DNS:localhost
own address -newkey rsa:2048 -subj /CN=x -addext subjectAltName=IP:127.0.0.1
own name_only -newkey rsa:2048 -subj /CN=localhost
own p521 -newkey ec -pkeyopt ec_paramgen_curve:secp521r1 -subj /CN=localhost -addext subjectAltName=DNS:localhost
own ca -newkey rsa:2048 -subj "/CN=an authority"
# Of version 1, without another name.
openssl req -newkey rsa:2048 -nodes -keyout leaf.key -out leaf.csr -subj /CN=localhost 2>/dev/null
openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out leaf.pem 2>/dev/null
cat own.pem address.pem name_only.pem p521.pem ca.pem >store.pem
# Not trusted.
own unknown -newkey rsa:2048 -subj /CN=localhost -addext subjectAltName=DNS:localhost
