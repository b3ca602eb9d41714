package trace

import "github.com/junction-mcp/junction/internal/redact"

// blot stands in the place of what looks like a secret.
const blot = "•••"

// redacted is a text, or the beginning of one, without what looks like a secret.
func redacted(text string) string { return redact.Hide(text, blot) }
