// Package jws checks signatures (RFC 7515) with a key that the signer publishes, or with one in the
// signed object. The latter proves the possession of a token (DPoP, RFC 9449). Protected resources
// and authorization servers use it.
package jws
