package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/junction-mcp/junction/state"
)

// classes maps codes of a server's errors, or their first two characters, to what they mean for
// callers. All but 57P01 and 57P02 are refusals without effect.
var classes = map[string]struct {
	is     error
	remedy string
}{
	"08":    {state.ErrUnavailable, "the connection failed"},
	"25006": {state.ErrUnavailable, "the server is read-only, such as a replica; give all hosts and target_session_attrs=read-write"},
	"40":    {state.ErrUnavailable, "another transaction was in the way"},
	"53100": {state.ErrFull, "the server's disk is full"},
	"53200": {state.ErrFull, "the server has no memory left"},
	"53300": {state.ErrUnavailable, "the server has too many connections"},
	"57014": {state.ErrUnavailable, "the server ended the statement, as it took too long"},
	"57P":   {state.ErrUnavailable, "the server stops or starts"},
	"28":    {nil, "check the user and the password of the URL"},
	"3D000": {nil, "make the database, or name another one in the URL"},
	"42501": {nil, "give the user the right to make tables, or make them as another user"},
}

// fail returns the error of an operation, of which writes says whether it changes anything.
func fail(what string, writes bool, err error) error {
	if err == nil {
		return nil
	}
	var reply *pgconn.PgError
	var connect *pgconn.ConnectError
	uncertain := writes && !pgconn.SafeToRetry(err) && !errors.As(err, &connect)
	if errors.As(err, &reply) {
		uncertain = uncertain && (reply.Code == "57P01" || reply.Code == "57P02")
		for _, code := range []string{reply.Code, reply.Code[:min(3, len(reply.Code))], reply.Code[:min(2, len(reply.Code))]} {
			switch class, found := classes[code]; {
			case found && class.is != nil && uncertain:
				return fmt.Errorf("postgres: %s: %w, and %w: %s", what, class.is, state.ErrUncertain, class.remedy)
			case found && class.is != nil:
				return fmt.Errorf("postgres: %s: %w: %s (%.200s)", what, class.is, class.remedy, reply.Message)
			case found:
				return fmt.Errorf("postgres: %s: %s (%.200s)", what, class.remedy, reply.Message)
			}
		}
		return fmt.Errorf("postgres: %s: %.200s (%s)", what, reply.Message, reply.Code)
	}
	cause := err.Error()
	if line, _, several := strings.Cut(cause, "\n"); several {
		cause = line
	}
	switch {
	case errors.Is(err, context.Canceled) && uncertain:
		return fmt.Errorf("postgres: %s: %w, and %w", what, err, state.ErrUncertain)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("postgres: %s: %w", what, err)
	case uncertain:
		return fmt.Errorf("postgres: %s: %w, and %w: %.300s", what, state.ErrUnavailable, state.ErrUncertain, cause)
	}
	return fmt.Errorf("postgres: %s: %w: %.300s", what, state.ErrUnavailable, cause)
}
