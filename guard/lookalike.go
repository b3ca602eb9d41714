package guard

import (
	"maps"
	"slices"
	"strings"
)

// LookAlikes compares the name of a server's tool with those of all other servers' tools. Names
// match if they differ only in case, separators, similar letters, or a typing error. It is meant
// for the time of approval, when a user can tell a similar server from an impostor. Honest servers
// often have similar names, so the severity is at most Warn. An equal name is only a Note unless
// the tool does something irreversible.
func (c *Catalogue) LookAlikes(server, name string) []Finding {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	var found []Finding
	folded := foldName(name)
	for _, other := range slices.Sorted(maps.Keys(c.servers)) {
		if other == server {
			continue
		}
		for _, theirs := range c.servers[other] {
			if f, alike := lookAlike(toolName{name, folded}, theirs); alike && len(found) < maxFindings {
				f.Where, f.Excerpt = "name", Visible(cut(name, maxExcerpt)+" / "+cut(other+": "+theirs.name, maxExcerpt))
				found = append(found, f)
			}
		}
	}
	return found
}

func lookAlike(own, theirs toolName) (Finding, bool) {
	name, folded, other := own.name, own.folded, theirs.folded
	switch {
	case name == theirs.name:
		severity := Note
		if isIrreversible(name) {
			severity = Warn
		}
		return Finding{Rule: "equal-name", Severity: severity, Why: "another server has a tool of the same name"}, true
	case folded == other && isASCII(name) && isASCII(theirs.name):
		severity := Note
		if isIrreversible(name) {
			severity = Warn
		}
		return Finding{Rule: "look-alike", Severity: severity, Why: "differs from the name of another server's tool in case or separators only"}, true
	case folded == other:
		return Finding{Rule: "look-alike", Severity: Warn, Why: "looks like the name of another server's tool"}, true
	case min(len(folded), len(other)) >= 8 && isTypo(folded, other):
		return Finding{Rule: "look-alike", Severity: Warn, Why: "is one letter away from the name of another server's tool"}, true
	case len(other) >= 8 && len(folded) > len(other) && (strings.HasPrefix(folded, other) || strings.HasSuffix(folded, other)):
		return Finding{Rule: "look-alike", Severity: Note, Why: "contains the name of another server's tool"}, true
	}
	return Finding{}, false
}

// foldName returns a name without case and separators, and with Latin letters in place of similar
// letters.
func foldName(name string) string {
	var b strings.Builder
	for _, field := range strings.FieldsFunc(plainForm(Clean(cut(name, 256))), func(r rune) bool { return strings.ContainsRune("_-. /:", r) }) {
		plain, _ := plainWord(nil, field)
		b.Write(plain)
	}
	return b.String()
}

// isTypo reports whether two different words become equal when one letter is changed, added or
// removed, or two neighbours are swapped.
func isTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) != len(b) {
		// A plural is a different word, not a typing error.
		return a[i:] == b[i+1:] && (i < len(a) || b[i] != 's')
	}
	return a[i+1:] == b[i+1:] && !isDigit(a[i]) || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isIrreversible reports whether a tool's name suggests that the tool does something irreversible.
func isIrreversible(name string) bool {
	first, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(splitCamel(name)), "-", "_"), "_")
	first, _, _ = strings.Cut(first, " ")
	return slices.Contains([]string{"transfer", "pay", "send", "delete", "remove", "write", "execute", "exec", "run", "buy", "sell", "order", "withdraw", "deposit",
		"publish", "post", "deploy", "drop", "approve", "sign", "grant", "merge", "push", "upload", "purchase", "swap", "trade", "issue", "refund", "commit"}, first)
}
