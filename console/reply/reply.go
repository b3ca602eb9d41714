// Package reply writes what routes of the console answer.
package reply

import (
	"encoding/json"
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

// Error writes why there is no answer.
func Error(w http.ResponseWriter, status int, err error) {
	JSON(w, status, map[string]string{"error": err.Error()})
}
