package adversity

import (
	"os"
	"testing"

	"github.com/junction-mcp/junction/mcp/internal/leaktest"
)

// Variables of the environment that make the test binary a server.
const (
	envScript   = "ADVERSITY_SCRIPT"
	envRevision = "ADVERSITY_REVISION"
	envDir      = "ADVERSITY_DIR"
)

// programs are what a child process may be in place of a scripted server.
var programs = map[string]func(){"panicking HTTP server": servePanics}

func TestMain(m *testing.M) {
	name, child := os.LookupEnv(envScript)
	if program := programs[name]; program != nil {
		program()
		return
	}
	if child {
		s := newServer(os.Getenv(envRevision), os.Getenv(envDir), scripts[name])
		s.inChild = true
		closeOut := func() { os.Stdout.Close() }
		s.lines(os.Stdin, os.Stdout, closeOut, closeOut, nil)
		return
	}
	leaktest.Main(m)
}

// scripts are the misbehaving servers by name, so that a child process finds its own.
var scripts = map[string]script{
	"withdraws":            withdraws,
	"responds late":        respondsLate,
	"stalls setLevel":      stalls("logging/setLevel"),
	"stalls subscribe":     stalls("resources/subscribe"),
	"stalls unsubscribe":   stalls("resources/unsubscribe"),
	"stalls the handshake": stalls("server/discover", "initialize"),
	"stalls some calls":    stallsSomeCalls,
	"waits for its end":    waitsForItsEnd,
	"restarts":             restarts("404"),
	"restarts with 400":    restarts("400"),
	"speaks early":         speaksEarly,
	"sends garbage":        sendsGarbage,
	"floods":               floods,
	"responds twice":       respondsTwice,
	"responds to nobody":   respondsToNobody,
	"reuses ids":           reusesIDs,
	"changes its tools":    changesTools,
	"removes annotations":  removesAnnotations,
	"cuts a channel":       cutsChannel,
	"ignores the end":      ignoresTheEnd,
	"asks":                 asks,
	"forges the envelope":  forgesEnvelope,
}
