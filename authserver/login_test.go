package authserver

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/formfill"
)

// A wrong password of a user who exists is not reported as a user who does not.
func TestARefusedLoginHasItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		var events []Event
		s.options.Happened = func(_ context.Context, e Event) error {
			if e.Kind == EventLogin {
				events = append(events, e)
			}
			return nil
		}
		id := s.register("A client", callback)
		b := formfill.New(map[string]string{"username": "ann", "password": "not the password"}, s)
		_, _ = b.Visit(t.Context(), ask(id, callback), endsAt(callback)) // it never comes back
		if len(events) == 0 || events[0].User != "ann" || events[0].Outcome != OutcomeRefused || events[0].Reason != "the name or the password is wrong" {
			t.Errorf("%+v", events)
		}
	})
}
