package approval

import (
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// Does returns what is known of what a call does: what its server claims, or what the user said where that claims nothing.
func Does(card *host.Card) string {
	if card.Reads {
		return "You confirmed in a review that it only reads; the server does not declare it"
	}
	return Claims(&card.Annotations, card.Trusted)
}

// Claims returns what a server claims about a tool. Nobody checks it; trusted says whether the user believes it.
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
	if unsaid := unclaimed(a); len(words) > 0 && len(unsaid) > 0 {
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

// unclaimed returns what a tool may do of which its server says nothing: a claim about something else must not be taken for all there is.
func unclaimed(a *mcp.ToolAnnotations) (does []string) {
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
