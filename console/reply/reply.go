// Package reply writes what routes of the console answer.
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
	_ = e.Encode(value) // who asked may be gone
}

// Error writes why there is no answer, with the status of a [Refuse].
func Error(w http.ResponseWriter, status int, err error) {
	if refused, is := errors.AsType[*refusal](err); is {
		status = refused.status
	}
	JSON(w, status, map[string]string{"error": err.Error()})
}

// A refusal is an error with the status of HTTP that it is answered with.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

// Refuse returns an error that is answered with a status of HTTP.
func Refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// Accepted is the answer to something that goes on.
type Accepted struct{ Body any }

// With answers requests with what f returns: JSON, or 204 for nil. Errors that are not of [Refuse] have status 500.
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
