package valkey

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"

	"github.com/junction-mcp/junction/state"
)

// codes maps the first words of a server's errors to what they mean for callers. All of them are
// refusals: the operation has had no effect.
var codes = map[string]struct {
	is     error
	remedy string
}{
	"OOM":         {state.ErrFull, "the server's maxmemory is reached"},
	"MISCONF":     {state.ErrUnavailable, "the server cannot write to its disk"},
	"LOADING":     {state.ErrUnavailable, "the server reads its data"},
	"READONLY":    {state.ErrUnavailable, "the server is a replica now"},
	"MASTERDOWN":  {state.ErrUnavailable, "the server is a replica without its primary"},
	"CLUSTERDOWN": {state.ErrUnavailable, "the cluster has lost a part"},
	"TRYAGAIN":    {state.ErrUnavailable, "the cluster moves keys"},
	"NOREPLICAS":  {state.ErrUnavailable, "the server has too few replicas to accept writes"},
	"BUSY":        {state.ErrUnavailable, "the server runs a long script"},
	"NOAUTH":      {nil, "the server wants a user and a password in the URL"},
	"WRONGPASS":   {nil, "check the user and the password of the URL"},
	"NOPERM":      {nil, "give the user the permissions that package state/valkey needs"},
}

// fail returns the error of an operation, of which writes says whether it changes anything.
func fail(what string, writes bool, err error) error {
	if err == nil {
		return nil
	}
	if reply, is := rueidis.IsRedisErr(err); is {
		text := reply.Error()
		code, _, _ := strings.Cut(text, " ")
		known, found := codes[code]
		if strings.Contains(text, "access a non local key") { // of a script that has changed nothing yet
			known, found = codes["TRYAGAIN"], true
		}
		switch {
		case found && known.is != nil:
			return fmt.Errorf("valkey: %s: %w: %s (%.200s)", what, known.is, known.remedy, text)
		case found:
			return fmt.Errorf("valkey: %s: %s (%.200s)", what, known.remedy, text)
		}
		return fmt.Errorf("valkey: %s: %.200s", what, text)
	}
	var dial *net.OpError
	switch {
	case errors.Is(err, context.Canceled) && writes:
		return fmt.Errorf("valkey: %s: %w, and %w", what, err, state.ErrUncertain)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("valkey: %s: %w", what, err)
	case !writes || errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, rueidis.ErrNoSlot) || errors.Is(err, rueidis.ErrClosing):
		return fmt.Errorf("valkey: %s: %w: %w", what, state.ErrUnavailable, err)
	}
	return fmt.Errorf("valkey: %s: %w, and %w: %w", what, state.ErrUnavailable, state.ErrUncertain, err)
}
