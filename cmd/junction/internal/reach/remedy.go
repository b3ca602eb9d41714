package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
)

// Remedies for problems of servers. The commands doctor and up print them.
const (
	// RemedyStrayOutput is for a program whose standard output has lines that are not messages.
	RemedyStrayOutput = "the server must log to standard error, because its standard output is only for JSON-RPC messages: look for an option that does this, or report it to its author"
	// RemedyVariable is for a variable that is not set.
	RemedyVariable = "set the variable in the environment of junction, or give it a default: ${NAME:-default}"
	// RemedySecret is for a missing secret.
	RemedySecret = "to keep the secret, run junction secret set NAME; for a file, correct the path in the entry"
	// RemedyPath is for a URL whose path may be wrong.
	RemedyPath = "check the path of the URL; it is often /mcp or /sse"
	// RemedyNoListener is for an address where no program listens.
	RemedyNoListener = "nothing listens there: start the server, or correct the port"
	// RemedyHostName is for a host name that cannot be resolved.
	RemedyHostName = "the host name is not known: check its spelling, and the network connection"
	trustedTLS     = `the certificate is not trusted, or is for another name: name its authority with "tls": {"ca": FILE} in the entry, or for all servers with SSL_CERT_FILE`
	// RemedyPlainHTTP is for an https URL whose server uses no TLS.
	RemedyPlainHTTP = `the server uses http at this port, not https: begin "url" of the entry with http://`
)

// ProgramRemedy returns the remedy for a program that cannot be started because of err.
func ProgramRemedy(name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "make it executable: chmod +x " + plaintext.ShellWord(name)
	case errors.Is(err, syscall.EISDIR):
		return `it is a folder: set "command" of the entry to the path of the program in it`
	}
	return InstallRemedy(name)
}

// TLSRemedy returns the remedy for a failed TLS handshake.
func TLSRemedy(err error) string {
	if errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, http.ErrSchemeMismatch) {
		return RemedyPlainHTTP
	}
	return trustedTLS
}

// InstallRemedy returns the remedy for a missing program.
func InstallRemedy(name string) string {
	return fmt.Sprintf("install %s, or set \"command\" to its absolute path: programs started from the desktop often have another PATH than your shell", name)
}

// Remedy returns the remedy for a server of up that fails, or "".
func Remedy(s gateway.Status) string {
	switch {
	case s.Err == nil:
		return ""
	case s.State == gateway.Connected:
		return "the server fails to list its tools and other offers: read its log, or report it to its author"
	case s.State == gateway.Idle || s.State == gateway.Unresponsive:
		return "restart it; if it fails again, read its log, and report it to its author"
	}
	return StartRemedy(s.Program, s.Err, s.Name, 0)
}

// StartRemedy returns the remedy for a server that does not start. program is set if the server is
// a program. limit is the time limit of the start, or 0.
func StartRemedy(program bool, err error, name string, limit time.Duration) string {
	text, status := err.Error(), statusOf(err)
	problem, ofEntry := errors.AsType[*config.Problem](err)
	switch {
	case errors.Is(err, config.ErrNotSet):
		return RemedyVariable
	case errors.Is(err, config.ErrSecret):
		return RemedySecret
	case errors.Is(err, exec.ErrNotFound):
		return InstallRemedy("it")
	case ofEntry && problem.Field != "":
		return fmt.Sprintf("change %q of the entry, or the file, folder or variable that it names", problem.Field)
	case program && why.AnswersElsewhere(err):
		return `the server started in HTTP mode: add its argument for standard input and output, often --stdio, to "args" of the entry`
	case errors.Is(err, context.DeadlineExceeded) && limit > 0:
		return fmt.Sprintf(`the start takes longer than %v: start it once by hand, or set "startTimeout" in its entry`, limit)
	case errors.Is(err, context.DeadlineExceeded):
		return `start it once by hand to see why it waits, or set a longer "startTimeout" in its entry, such as "5m"`
	case errors.Is(err, oauth.ErrLogin):
		return text[strings.LastIndex(text, "junction login"):]
	case IsWebPage(err):
		return RemedyPath
	case status == http.StatusUnauthorized:
		return "sign in: junction login " + plaintext.ShellWord(name) + `; or give its entry "headers", such as {"Authorization": "Bearer ${TOKEN}"}`
	case status == http.StatusForbidden:
		return "the server refuses these credentials: use others, or ask its operator for access"
	case status == http.StatusNotFound:
		return `the server has nothing at this path: the address often ends with /mcp or /sse`
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(tls.RecordHeaderError)), errors.Is(err, http.ErrSchemeMismatch):
		return TLSRemedy(err)
	case errors.As(err, new(*net.DNSError)):
		return RemedyHostName
	case !program && cli.NotListening(err):
		return RemedyNoListener
	case noRevision.MatchString(text):
		return "the server and junction have no protocol revision in common: update the older one; if you chose a revision, remove that choice"
	}
	if errors.Is(err, fs.ErrNotExist) {
		return `install it, or set "command" of the entry to its path`
	}
	if !program {
		return "check the address, which often ends with /mcp or /sse: open it with curl -i, or ask its operator"
	}
	if strings.Contains(text, "working directory") {
		return `change "cwd" of the entry to a folder that exists`
	}
	said := why.Of(err, name)
	if variable := why.WantedVariable(err, said); variable != "" {
		return fmt.Sprintf(`the server needs the environment variable %[1]s: add "env": {"%[1]s": …} to its entry`, variable)
	}
	if noFile.MatchString(said) {
		return `a file in "args" does not exist: use an absolute path`
	}
	return `run its command yourself and read the output; add missing variables and paths to "env" and "args" of the entry`
}

// IsWebPage reports whether an error means that a URL responded with a web page.
func IsWebPage(err error) bool {
	if e, is := errors.AsType[*mcp.StatusError](err); is && strings.HasPrefix(e.Header.Get("Content-Type"), "text/html") {
		return true
	}
	return strings.Contains(err.Error(), `found the content type "text/html`)
}

// Patterns of errors that determine the remedy.
var (
	noRevision = regexp.MustCompile(`does not speak |speaks \[|expected one of the protocol versions`)
	noFile     = regexp.MustCompile(`(?i)cannot find module|no such file|can't open|cannot open|does not exist`)
)
