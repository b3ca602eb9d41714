// Package jws checks what is signed (RFC 7515): with a key that the signer publishes, or with one that it shows, which is
// how it proves that a token is its own (DPoP, RFC 9449). It is for who protects a resource, and for who gives tokens.
package jws
