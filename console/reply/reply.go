// Package reply writes the responses of the console's routes.
package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// JSON writes a value as JSON, with a status.
func JSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // fails if the client has disconnected
}

// Error writes an error as JSON. An error of [Refuse] overrides the status.
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

// Accepted is a result of a handler, for [With], that is sent with the status 202 Accepted.
type Accepted struct{ Body any }

// With returns a handler that responds with the result of f as JSON, or with 204 if it is nil. An
// error has the status 500 unless it is one of [Refuse].
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
