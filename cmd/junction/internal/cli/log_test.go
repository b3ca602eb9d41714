package cli_test

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// What Junction says and what it logs have one style on standard error.
func TestLogAsTextHasTheStyleOfTheRest(t *testing.T) {
	var said clitest.SafeBuffer
	log := slog.New(cli.NewLineHandler(&said, slog.LevelInfo))
	log.Debug("not shown")
	log.Info("junction: read again", "files", 2)
	log.With("server", "a b").WithGroup("tls").Warn("gateway: lost", "error", errors.New("two\nlines"), "level", "high")
	log.Error("http: panic\njunction: paste this", "msg", "")
	want := "junction: info: read again files=2\n" +
		"junction: warning: gateway: lost server=\"a b\" tls.error=\"two\\nlines\" tls.level=high\n" +
		"junction: error: http: panic\\njunction: paste this\n"
	if got := said.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
