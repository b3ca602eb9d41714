package approval

import (
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// Does describes the effects of a call: the server's claims, or the user's own declaration if the
// server claims nothing.
func Does(card *host.ApprovalCard) string {
	if card.Reads {
		return "You confirmed in a review that it only reads; the server does not declare it"
	}
	return Claims(&card.Annotations, card.Trusted)
}

// Claims describes the effects that a server claims for a tool. Nothing checks these claims;
// trusted reports whether the user believes them.
func Claims(a *mcp.ToolAnnotations, trusted bool) string {
	var words []string
	say := func(hint *bool, yes, no string) {
		switch {
		case hint == nil:
		case *hint:
			words = append(words, yes)
		default:
			words = append(words, no)
		}
	}
	say(a.ReadOnlyHint, "only reads", "writes")
	if a.ReadOnlyHint == nil || !*a.ReadOnlyHint {
		say(a.DestructiveHint, "may overwrite or delete", "never overwrites or deletes")
		say(a.IdempotentHint, "safe to repeat", "not safe to repeat")
	}
	say(a.OpenWorldHint, "reaches other systems", "no outside access")
	if unsaid := missingClaims(a); len(words) > 0 && len(unsaid) > 0 {
		words = append(words, "does not say whether it "+strings.Join(unsaid, " or "))
	}
	switch {
	case len(words) == 0:
		return "The server does not declare what this does: it may write, delete and reach other systems"
	case trusted:
		return "The server says (you trust it): " + strings.Join(words, "; ")
	}
	return "The server says (not checked): " + strings.Join(words, "; ")
}

// missingClaims returns the possible effects of a tool that its server's claims do not mention.
// Without them, a claim about one effect could be taken for a full description.
func missingClaims(a *mcp.ToolAnnotations) (does []string) {
	if reads := a.ReadOnlyHint != nil && *a.ReadOnlyHint; !reads && a.DestructiveHint == nil {
		if a.ReadOnlyHint == nil {
			does = append(does, "writes")
		}
		does = append(does, "deletes")
	}
	if a.OpenWorldHint == nil {
		does = append(does, "reaches other systems")
	}
	return does
}
