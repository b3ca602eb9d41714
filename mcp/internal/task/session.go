package task

import "context"

// A session describes the legacy session of a request.
type session struct {
	id     string
	atOnce bool
}

type sessionKey struct{}

// WithSession returns a context for a request of a session that several replicas serve. The id
// identifies the session at all of them. With atOnce, the request is a call that is to become a task
// before it runs, as other replicas do not have a result that only this one keeps.
func WithSession(ctx context.Context, id string, atOnce bool) context.Context {
	return context.WithValue(ctx, sessionKey{}, session{id, atOnce})
}

// SessionOf returns the id of the session of a request, or "" if no other replica serves it.
func SessionOf(ctx context.Context) string {
	s, _ := ctx.Value(sessionKey{}).(session)
	return s.id
}

// AtOnce reports whether a call is to become a task before it runs.
func AtOnce(ctx context.Context) bool {
	s, _ := ctx.Value(sessionKey{}).(session)
	return s.atOnce
}
