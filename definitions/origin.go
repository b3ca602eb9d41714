package definitions

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"
)

// An Origin holds all that determines a server's definitions: the program with its arguments and
// environment, or the address. Servers with equal Origins share their stored definitions.
type Origin struct {
	Command string
	Args    []string
	Dir     string            // working directory
	Env     map[string]string // added to the environment
	Unset   []string          // removed from the environment
	URL     string
	Headers map[string]string // added to requests
	// Client describes the client's capabilities for requests of the server, in any form. Empty
	// means the usual ones. A server may list different tools for different clients.
	Client string
}

// key returns a hash of the origin. The hash reveals nothing without the secret.
func (o Origin) key(secret []byte) string {
	h := hmac.New(sha256.New, secret)
	write(h, o.Command, o.Dir, o.URL, o.Client)
	write(h, o.Args...)
	write(h, slices.Sorted(slices.Values(o.Unset))...)
	for _, pairs := range []map[string]string{o.Env, o.Headers} {
		var flat []string
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			flat = append(flat, name, pairs[name])
		}
		write(h, flat...)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// write hashes strings together with their number and lengths. Different lists therefore have
// different input.
func write(h hash.Hash, words ...string) {
	b := strconv.AppendInt(nil, int64(len(words)), 10)
	for _, word := range words {
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(len(word)), 10)
		b = append(b, ':')
		b = append(b, word...)
	}
	h.Write(b) // a hash never returns an error
}
