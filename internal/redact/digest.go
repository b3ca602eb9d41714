package redact

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest returns a digest of a secret. Equal secrets have equal digests. A digest does not disclose
// a secret, unless the secret can be guessed. The digest of "" is "".
func Digest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
