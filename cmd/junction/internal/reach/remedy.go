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
	RemedyStrayOutput = "the server must log to standard error, as its standard output is for messages of JSON-RPC only: look for an option that has it do so, or report it to its author"
	// RemedyVariable is for a variable that is not set.
	RemedyVariable = "set the variable where junction is started, or give it a default: ${NAME:-default}"
	// RemedySecret is for a missing secret.
	RemedySecret = "junction secret set NAME keeps a secret; a file must be where the entry says"
	// RemedyPath is for a URL whose path may be wrong.
	RemedyPath = "is the path right? it is often /mcp or /sse"
	// RemedyNoListener is for an address where no program listens.
	RemedyNoListener = "nothing listens there: is the server started, and is that its port?"
	// RemedyHostName is for a host name that cannot be resolved.
	RemedyHostName = "the name is not known: is it written rightly, and is there a network?"
	trustedTLS     = `the certificate is not trusted here, or not for this name: "tls": {"ca": FILE} in its entry names the authority, or SSL_CERT_FILE for all`
	// RemedyPlainHTTP is for an https URL whose server uses no TLS.
	RemedyPlainHTTP = `it speaks http at this port, and no https: begin "url" of the entry with http://`
)

// ProgramRemedy returns the remedy for a program that cannot be started because of err.
func ProgramRemedy(name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "make it a program: chmod +x " + plaintext.ShellWord(name)
	case errors.Is(err, syscall.EISDIR):
		return `it is a folder: write the path of the program in it as "command" of the entry`
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
	return fmt.Sprintf("install %s, or write its whole path as the command: a program that you start from the desktop often has another PATH than your shell", name)
}

// Remedy returns the remedy for a server of up that fails, or "".
func Remedy(s gateway.Status) string {
	switch {
	case s.Err == nil:
		return ""
	case s.State == gateway.Connected:
		return "the server fails at listing what it has: look at what it writes, or report it to its author"
	case s.State == gateway.Idle || s.State == gateway.Unresponsive:
		return "restart it; if that happens again, look at what it writes, and report it to its author"
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
		return fmt.Sprintf("change %q of the entry, or what it names", problem.Field)
	case program && why.AnswersElsewhere(err):
		return `it serves HTTP as it is started so: see which argument has it use standard input and output, often --stdio, for "args" of its entry`
	case errors.Is(err, context.DeadlineExceeded) && limit > 0:
		return fmt.Sprintf(`it takes longer than %v: start it once by hand, or give its entry "startTimeout"`, limit)
	case errors.Is(err, context.DeadlineExceeded):
		return `start it once by hand to see what it waits for, or give its entry a longer "startTimeout", such as "5m"`
	case errors.Is(err, oauth.ErrLogin):
		return text[strings.LastIndex(text, "junction login"):]
	case IsWebPage(err):
		return RemedyPath
	case status == http.StatusUnauthorized:
		return "sign in: junction login " + plaintext.ShellWord(name) + `; or give its entry "headers", such as {"Authorization": "Bearer ${TOKEN}"}`
	case status == http.StatusForbidden:
		return "it refuses these credentials: ask for others, or for the right to use it"
	case status == http.StatusNotFound:
		return `there is nothing at this path: the address often ends with /mcp or /sse`
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(tls.RecordHeaderError)), errors.Is(err, http.ErrSchemeMismatch):
		return TLSRemedy(err)
	case errors.As(err, new(*net.DNSError)):
		return RemedyHostName
	case !program && cli.NotListening(err):
		return RemedyNoListener
	case noRevision.MatchString(text):
		return "it and junction have no revision of the protocol in common: update the older of the two; where a revision was chosen, leave the choice to junction"
	}
	if errors.Is(err, fs.ErrNotExist) {
		return `install it, or change "command" of the entry to where it is`
	}
	if !program {
		return "is the address right? it is often one that ends with /mcp or /sse: open it with curl -i, and ask its operator"
	}
	if strings.Contains(text, "working directory") {
		return `change "cwd" of the entry to a folder that exists`
	}
	said := why.Of(err, name)
	if variable := why.WantedVariable(err, said); variable != "" {
		return fmt.Sprintf(`it wants the variable %[1]s of the environment: give its entry "env": {"%[1]s": …}`, variable)
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
