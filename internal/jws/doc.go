// Package jws verifies signatures (RFC 7515), either with a key that the signer publishes or with
// the key in the signed object. A signature with the key in the object proves that the sender of a
// token has this key (DPoP, RFC 9449). Protected resources and authorization servers use the
// package.
package jws
