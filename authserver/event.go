package authserver

import (
	"context"
	"net"
	"net/http"
)

// The kinds of an [Event].
const (
	EventLogin   = "login"   // a user logged in, or a login was refused
	EventLogout  = "logout"  // logins of a user ended
	EventConsent = "consent" // a user allowed a client to act for them, or declined
	EventRevoke  = "revoke"  // the permission of a client ended
	EventClient  = "client"  // a client registered itself
)

// The outcomes of an [Event].
const (
	OutcomeOK        = "ok"
	OutcomeRefused   = "error"
	OutcomeCancelled = "cancelled" // the user declined
)

// An Event is an action of a user or a client that an operator may have to account for.
type Event struct {
	Kind    string
	Outcome string
	User    string   // name of the user; of a refused login the name that the caller gave, or empty
	Client  string   // ID of the client, or empty
	Name    string   // number of ended logins, name of a client or resource that it is for
	Scopes  []string // scopes of a consent
	Address string   // IP address of the caller, or empty
	Reason  string   // reason of a refusal or an end
}

type addressKey struct{}

// addressIn returns the IP address of the caller whose request has the context ctx.
func addressIn(ctx context.Context) string {
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}

// withAddress returns r with a context that has the IP address of its sender.
func withAddress(r *http.Request) *http.Request {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return r.WithContext(context.WithValue(r.Context(), addressKey{}, host))
}

// happened passes an event on. The error reports that the event cannot be recorded.
func (s *Server) happened(ctx context.Context, e Event) error {
	if s.options.Happened == nil {
		return nil
	}
	e.Address = addressIn(ctx)
	if e.Outcome == "" {
		e.Outcome = OutcomeOK
	}
	return s.options.Happened(context.WithoutCancel(ctx), e)
}

// record passes on an event that has happened already. It logs an error.
func (s *Server) record(ctx context.Context, e Event) {
	if err := s.happened(ctx, e); err != nil {
		s.options.Logger.ErrorContext(ctx, "authorization server: an event is not recorded", "event", e.Kind, "user", e.User, "error", err)
	}
}
