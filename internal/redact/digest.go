package redact

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest returns a text that is the same for the same secret, which it does not tell if that cannot be guessed; empty for none.
func Digest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
