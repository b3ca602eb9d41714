package reach

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
)

// About says where a server is defined, and how many entries it has, or why none are known.
func (s ListedServer) About(p place.Place, l List) string {
	details := []string{s.Entry.Origin(p)}
	switch {
	case s.Entry.IsDisabled():
		details = append(details, "disabled")
	case errors.As(s.Listing.Err, new(*ConsentError)):
		details = append(details, "not agreed to")
	case s.Listing.Err != nil:
		details = append(details, "not connected: "+plaintext.Line(why.Of(s.Listing.Err, s.Entry.Name), cli.MaxReason))
	case s.Listing.runs.IsFailing():
		details = append(details, s.Listing.runs.About())
	default:
		details = append(details, plaintext.Count(len(s.Listing.Entries), l.Noun))
		if s.Listing.Remembered {
			details = append(details, cmp.Or(s.Listing.runs.About(), s.Entry.AtRest()+cli.AsOf(s.Listing.read)))
		}
	}
	return strings.Join(details, ", ")
}

// IsSilent reports whether nobody waited for a server any longer before it was connected, in which case nothing else is known of it.
func (s ListedServer) IsSilent() bool {
	err := s.Listing.Err
	ended := errors.Is(err, cli.ErrInterrupted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return ended && errors.As(err, new(*cli.ConnectError))
}
