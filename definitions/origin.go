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

// An Origin is what a server's definitions depend on: the program that is started
// and what it is given, or the address that is called. Two servers with the same
// Origin share what is remembered.
type Origin struct {
	Command string
	Args    []string
	Dir     string            // working directory
	Env     map[string]string // what is added to the environment
	Unset   []string          // what is taken out of it
	URL     string
	Headers map[string]string // that are added to requests
	// Client is what the client declares that it can be asked, in whatever form;
	// empty for one that declares what most clients can. Servers offer different
	// tools to different clients.
	Client string
}

// key is a hash over the origin that says nothing of it to who has not the secret.
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

// write adds strings with their number and lengths, so that no two lists of
// strings are the same to the hash.
func write(h hash.Hash, words ...string) {
	b := strconv.AppendInt(nil, int64(len(words)), 10)
	for _, word := range words {
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(len(word)), 10)
		b = append(b, ':')
		b = append(b, word...)
	}
	h.Write(b) // a hash takes everything
}
