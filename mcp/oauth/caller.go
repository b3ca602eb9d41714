package oauth

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A Caller is the user and client of an access token that a server has checked.
type Caller struct {
	Issuer   string // the authorization server that issued the token
	Subject  string // the user of the token
	ClientID string // the client of the token; empty if unknown
	Scopes   []string
	Expires  time.Time // zero if unknown
	Token    Secret
}

// A Secret is a text that is hidden when a value that contains it is printed, logged or encoded.
type Secret struct{ text *string }

// NewSecret returns a Secret with the given text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text. For the zero Secret, it returns an empty string.
func (s Secret) Reveal() string { return *cmp.Or(s.text, new(string)) }

// String returns a placeholder instead of the text.
func (Secret) String() string { return "(secret)" }

// GoString returns the same placeholder for %#v.
func (Secret) GoString() string { return "(secret)" }

// key identifies the holder of an exchanged token. The same user with two clients, or with
// different scopes, counts as two holders, as one client must not get the permissions of another.
func (c *Caller) key() mcp.PrincipalKey {
	return (&mcp.Principal{Issuer: c.Issuer, Subject: c.Subject, ClientID: c.ClientID, Scopes: c.Scopes}).Key()
}

// hashOf returns a text that identifies a token without revealing it.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
