// Package reply writes the responses of routes of the console.
package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// JSON writes a value.
func JSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // the client may be gone
}

// Error writes an error, with the status of a [Refuse].
func Error(w http.ResponseWriter, status int, err error) {
	if refused, is := errors.AsType[*refusal](err); is {
		status = refused.status
	}
	JSON(w, status, map[string]string{"error": err.Error()})
}

// A refusal is an error with its HTTP status.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

// Refuse returns an error with an HTTP status.
func Refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// Accepted is the body of a response about an operation that continues.
type Accepted struct{ Body any }

// With returns a handler that responds with the result of f: JSON, or 204 for nil. Errors that are
// not of [Refuse] have status 500.
func With(f func(r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := f(r)
		accepted, goesOn := body.(Accepted)
		switch {
		case err != nil:
			Error(w, http.StatusInternalServerError, err)
		case body == nil:
			w.WriteHeader(http.StatusNoContent)
		case goesOn:
			JSON(w, http.StatusAccepted, accepted.Body)
		default:
			JSON(w, http.StatusOK, body)
		}
	})
}
