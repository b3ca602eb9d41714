package live

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/place"
)

// Ctrl-Z does not lose the screen where no shell could have the program go on.
func TestCtrlZWithoutAShell(t *testing.T) {
	const child = "JUNCTION_TEST_CTRL_Z"
	if (place.Place{}).Getenv(child) != "" {
		_ = New(Options{In: os.Stdin, Out: os.Stdout, Gateway: three()}).Run(t.Context())
		return
	}
	c := newConsole(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(place.Place{}.Environ(), child+"=1", "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.SysProcAttr = c.terminal, c.terminal, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c.sees("withheld")
	c.types("\x1a")
	c.sees(leavesOther)
	c.seesTimes(2, entersOther)
	c.types("q")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("q does not end it")
		_ = cmd.Process.Kill()
		<-ended
	}
}
