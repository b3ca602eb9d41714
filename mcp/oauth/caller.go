package oauth

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A Caller is who came to a server with an access token that was checked there.
type Caller struct {
	Issuer   string // the authorization server that gave the token
	Subject  string // who it is for
	ClientID string // the client that has it; empty: not said
	Scopes   []string
	Expires  time.Time // zero: not said
	Token    Secret
}

// A Secret is a text that is not shown where a value that holds it is printed, logged or encoded.
type Secret struct{ text *string }

// NewSecret returns a Secret that holds a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text; it is empty for the zero Secret.
func (s Secret) Reveal() string { return *cmp.Or(s.text, new(string)) }

// String says that there is a secret, and not which.
func (Secret) String() string { return "(secret)" }

// GoString is String, for %#v.
func (Secret) GoString() string { return "(secret)" }

// grantee is whom an authorization server gives one token for a server. A user who comes by two clients, or with other scopes, is
// two of them: what one client may do, the other must not get.
func (c *Caller) grantee() mcp.Grantee {
	return (&mcp.Principal{Issuer: c.Issuer, Subject: c.Subject, ClientID: c.ClientID, Scopes: c.Scopes}).Grantee()
}

// hashOf names a token without showing it.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
