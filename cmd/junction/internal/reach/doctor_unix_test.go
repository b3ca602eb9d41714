//go:build unix

package reach_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

func TestARemedyIsForTheKindOfServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		program bool
		err     error
		want    string
	}{
		{"of a URL", false, errors.New("the server answered with a status of 405"), "check the address"},
		{"of a program", true, errors.New("it exited with status 1"), "run its command yourself"},
		{"of a folder", true, errors.New(`working directory "/none" does not exist`), `change "cwd"`},
		{"of a name that is nowhere", true, fmt.Errorf("start: %w", exec.ErrNotFound), `install it, or set "command" to its absolute path`},
		{"of a file that is not there", true, fmt.Errorf("start: %w", fs.ErrNotExist), `set "command" of the entry`},
		{"of a variable", false, fmt.Errorf("env.K: %w", config.ErrNotSet), "set the variable"},
		{"of a slow one", true, launch.StartTimeoutError(time.Second, ""), `a longer "startTimeout"`},
		{"of a server of HTTP", true, fmt.Errorf("not connected within 1s: %w; its standard error ends with:\nlistening at http://127.0.0.1:3", context.DeadlineExceeded), "often --stdio"},
		{"of a server of HTTP that is slow", true, launch.StartTimeoutError(time.Second, "its standard error ends with: server running on port 80"), "often --stdio"},
		{"of a certificate", false, fmt.Errorf("tls: %w", &tls.CertificateVerificationError{Err: errors.New("unknown")}), `"tls": {"ca": FILE}`},
		{"of an entry's file", false, &config.Problem{Field: "tls.ca", Err: fs.ErrNotExist}, `change "tls.ca" of the entry`},
		{"of an entry's file of variables", true, &config.Problem{Server: "s", Field: "envFile", Err: fs.ErrNotExist}, `change "envFile" of the entry`},
		{"of http at an address of https", false, fmt.Errorf("initialize: %w", http.ErrSchemeMismatch), `begin "url" of the entry with http://`},
		{"of a handshake without TLS", false, fmt.Errorf("initialize: %w", tls.RecordHeaderError{Msg: "no"}), `begin "url" of the entry with http://`},
		{"of a port", false, fmt.Errorf("dial: %w", syscall.ECONNREFUSED), "nothing listens there"},
		{"of a login", false, &mcp.StatusError{Status: 401}, "sign in: junction login s"},
		{"of a path", false, &mcp.StatusError{Status: 404}, "the server has nothing at this path"},
	} {
		if got := reach.StartRemedy(c.program, c.err, "s", 0); !strings.Contains(got, c.want) {
			t.Errorf("%s it says %q, want %q", c.name, got, c.want)
		}
	}
}
